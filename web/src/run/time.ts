// micros returns an API time in microseconds since 1970: a Date has only milliseconds.
export function micros(time: string): number {
  const m = /^([^.]*?)(?:\.(\d+))?Z$/.exec(time)
  const [whole, fraction] = [m?.[1] ?? time, m?.[2] ?? '']
  return Date.parse(`${whole}Z`) * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

// short formats the time of an event as in the run object, without trailing zeros in the fraction.
export const short = (time: string): string => time.replace(/(\.\d*?)0+Z$/, '$1Z').replace(/\.Z$/, 'Z')
