import {useLocation, useSearch} from 'wouter'

// Place is the position of the page in a run; all of it is in the address.
export type Place = {
  tab: string
  // step is the number of the open step, or 0 for none.
  step: number
  // iter is the iteration with which that step is compared, or 0 for none.
  iter: number
  // at is the number of the event up to which the run is shown, or 0 for the whole live run.
  at: number
  heat: string
  q: string
  set: (to: {
    tab?: string
    step?: number | null
    iter?: number | null
    at?: number | null
    heat?: string | null
    q?: string | null
  }) => void
}

const number = (text: string | null): number => (/^\d{1,9}$/.test(text ?? '') ? Number(text) : 0)

// readPlace parses the query of an address; invalid numbers are ignored.
export function readPlace(query: string): Omit<Place, 'set'> {
  const p = new URLSearchParams(query)
  return {
    tab: p.get('tab') ?? 'graph',
    step: number(p.get('step')),
    iter: number(p.get('iter')),
    at: number(p.get('at')),
    heat: p.get('heat') ?? '',
    q: p.get('q') ?? '',
  }
}

// movedTo returns the query of another place. Another step ends the comparison of iterations.
export function movedTo(query: string, to: Parameters<Place['set']>[0]): string {
  const p = new URLSearchParams(query)
  if (to.step !== undefined && to.iter === undefined) p.delete('iter')
  for (const [name, v] of Object.entries(to)) {
    if (v === null || v === '' || v === 0) p.delete(name)
    else if (v !== undefined) p.set(name, String(v))
  }
  return p.toString()
}

// usePlace reads and changes the address of a run's page.
export function usePlace(id: string): Place {
  const query = useSearch()
  const [, go] = useLocation()
  return {...readPlace(query), set: to => go(`/runs/${id}?${movedTo(window.location.search, to)}`, {replace: true})}
}
