type Named = {workflow: string; branch: string | null; id: string | null}

// titleOf returns a name for a schedule from its workflow, its branch and its own id.
export const titleOf = (s: Named): string => [s.workflow, s.branch ?? '', s.id ?? ''].filter(Boolean).join(' · ')

// placesOf returns the positions of times on an axis from now to the last of all times, from 0 to
// 1.
export function placesOf(times: readonly string[], all: readonly string[], now: number): number[] {
  const last = Math.max(...all.map(t => Date.parse(t)), ...times.map(t => Date.parse(t)))
  const span = last - now
  return times.map(t => (span <= 0 ? 0 : Math.min(1, Math.max(0, (Date.parse(t) - now) / span))))
}
