// micros gives a time of the API in microseconds since 1970: a Date has milliseconds only.
export function micros(time: string): number {
  const m = /^([^.]*?)(?:\.(\d+))?Z$/.exec(time)
  const [whole, fraction] = [m?.[1] ?? time, m?.[2] ?? '']
  return Date.parse(`${whole}Z`) * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'))
}

// short writes a time of an event as the run object has it, without zeros at the end of the fraction.
export const short = (time: string): string => time.replace(/(\.\d*?)0+Z$/, '$1Z').replace(/\.Z$/, 'Z')
