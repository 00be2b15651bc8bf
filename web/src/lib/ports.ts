// conditionWord names the way out of a condition for people, who count from one: documents have condition-0 for the first one. undefined: the port is none of a condition.
export function conditionWord(port: string): string | undefined {
  const i = /^condition-(\d+)$/.exec(port)?.[1]
  return i === undefined ? undefined : `condition ${Number(i) + 1}`
}
