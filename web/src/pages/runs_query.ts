import {keepPreviousData, useInfiniteQuery, useQuery} from '@tanstack/react-query'
import {ask, client, type Schemas} from '../api/client.ts'

export type RunLine = Schemas['RunLine']

// Filter is the filter of the list; it is in the address.
export type Filter = {status: string; workflow: string; q: string; trigger: string; from: string}

export const noFilter: Filter = {status: '', workflow: '', q: '', trigger: '', from: ''}

export const readFilter = (search: string): Filter => {
  const p = new URLSearchParams(search)
  return {
    status: p.get('status') ?? '',
    workflow: p.get('workflow') ?? '',
    q: p.get('q') ?? '',
    trigger: p.get('trigger') ?? '',
    from: p.get('from') ?? '',
  }
}

export const writeFilter = (f: Filter): string => {
  const p = new URLSearchParams(Object.entries(f).filter(([, v]) => v !== ''))
  const text = p.toString()
  return text ? `?${text}` : ''
}

export const spans: Record<string, {name: string; ms: number}> = {
  '1h': {name: 'Last hour', ms: 3_600_000},
  '24h': {name: 'Last 24 hours', ms: 86_400_000},
  '7d': {name: 'Last 7 days', ms: 7 * 86_400_000},
}

const queryOf = (f: Filter) => ({
  ...(f.status ? {status: f.status} : {}),
  ...(f.workflow ? {workflow: f.workflow} : {}),
  ...(f.trigger ? {trigger: f.trigger} : {}),
  ...(f.q.trim() ? {q: f.q.trim()} : {}),
  ...(spans[f.from]
    ? {createdFrom: new Date(Math.floor((Date.now() - spans[f.from]!.ms) / 60_000) * 60_000).toISOString()}
    : {}),
})

export function useRuns(f: Filter) {
  return useInfiniteQuery({
    queryKey: ['runs', 'list', f],
    queryFn: ({pageParam}) =>
      ask(
        client.GET('/api/v1/runs', {
          params: {query: {limit: 100, ...queryOf(f), ...(pageParam ? {cursor: pageParam} : {})}},
        }),
      ),
    initialPageParam: '',
    getNextPageParam: page => page.next || undefined,
    placeholderData: keepPreviousData,
  })
}

// useCounts counts the runs that match a filter by status, regardless of the filter's status, and
// by workflow.
export function useCounts(f: Filter) {
  const all = {...f, status: ''}
  return useQuery({
    queryKey: ['counts', all],
    queryFn: () => ask(client.GET('/api/v1/runs/counts', {params: {query: queryOf(all)}})),
    placeholderData: keepPreviousData,
  })
}
