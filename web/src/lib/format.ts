// This module formats numbers and times for people.

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return ''
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const min = Math.floor(ms / 60_000)
  if (min < 60) return `${min} min ${Math.floor((ms % 60_000) / 1000)} s`
  const h = Math.floor(min / 60)
  return h < 48 ? `${h} h ${min % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`
}

export function count(n: number): string {
  if (n < 1000) return String(n)
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`
  return `${(n / 1_000_000).toFixed(1)}M`
}

export function usd(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return 'cost unknown'
  if (cost === 0) return '$0'
  if (cost < 0.0001) return '< $0.0001'
  return `$${cost.toFixed(cost < 0.01 ? 4 : cost < 1 ? 3 : 2)}`
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}

const day = new Intl.DateTimeFormat(undefined, {day: 'numeric', month: 'short'})
const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit'})
const exactly = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'})

export const exact = (time: string): string => exactly.format(new Date(time))

// ago returns how long ago a time was, or the date if that was long ago. Future times start with
// `in`.
export function ago(time: string, now = Date.now()): string {
  const at = new Date(time)
  const ms = now - at.getTime()
  const size = Math.abs(ms)
  const say = (text: string) => (ms < 0 ? `in ${text}` : `${text} ago`)
  if (size < 5000) return 'now'
  if (size < 60_000) return say(`${Math.floor(size / 1000)} s`)
  if (size < 3_600_000) return say(`${Math.floor(size / 60_000)} min`)
  if (size < 24 * 3_600_000) return say(`${Math.floor(size / 3_600_000)} h`)
  if (size < 7 * 24 * 3_600_000) return say(`${Math.floor(size / (24 * 3_600_000))} d`)
  return `${day.format(at)}, ${clock.format(at)}`
}

// clockTime returns the time of day of an event with milliseconds.
export function clockTime(time: string): string {
  const d = new Date(time)
  return `${d.toLocaleTimeString(undefined, {hour12: false})}.${String(d.getMilliseconds()).padStart(3, '0')}`
}
