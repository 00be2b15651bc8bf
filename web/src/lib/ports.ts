// conditionWord returns the name of a condition's output for people, who count from one: documents
// use condition-0 for the first one. It returns undefined if the port does not belong to a
// condition.
export function conditionWord(port: string): string | undefined {
  const i = /^condition-(\d+)$/.exec(port)?.[1]
  return i === undefined ? undefined : `condition ${Number(i) + 1}`
}
