import {useQuery, useQueryClient} from '@tanstack/react-query'
import {useEffect, useState} from 'react'
import {askExact, client, type Schemas} from '../api/client.ts'

export type OpenWait = Schemas['OpenWait']

// useOpenWaits returns the open waits, the next deadline first and then the oldest. If it is not
// urgent, the request is sent after those that a page needs.
export function useOpenWaits(urgent = true) {
  const quiet = useQuiet()
  return useQuery({
    queryKey: ['waits'],
    enabled: urgent || quiet,
    queryFn: async (): Promise<OpenWait[]> => {
      const page = await askExact<{items?: OpenWait[]}>(
        client.GET('/api/v1/waits', {parseAs: 'text', params: {query: {limit: 200}}}),
      )
      return [...(page.items ?? [])].sort(
        (a, b) => (a.deadline ?? '9').localeCompare(b.deadline ?? '9') || a.since.localeCompare(b.since),
      )
    },
  })
}

// useQuiet reports whether the first requests of a page have been answered, or took seconds.
function useQuiet(): boolean {
  const queries = useQueryClient()
  const [quiet, setQuiet] = useState(false)
  useEffect(() => {
    const begun = performance.now()
    const timer = setInterval(() => {
      if (queries.isFetching() > 0 && performance.now() < begun + 3000) return
      setQuiet(true)
      clearInterval(timer)
    }, 200)
    return () => clearInterval(timer)
  }, [queries])
  return quiet
}
