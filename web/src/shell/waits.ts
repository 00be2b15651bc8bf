import {useQuery} from '@tanstack/react-query'
import {askExact, client, type Schemas} from '../api/client.ts'

export type OpenWait = Schemas['OpenWait']

// useOpenWaits gives what waits for people, the next deadline first and then the oldest.
export function useOpenWaits() {
  return useQuery({
    queryKey: ['waits'],
    queryFn: async (): Promise<OpenWait[]> => {
      const page = await askExact<{items?: OpenWait[]}>(client.GET('/api/v1/waits', {parseAs: 'text', params: {query: {limit: 200}}}))
      return [...(page.items ?? [])].sort((a, b) => (a.deadline ?? '9').localeCompare(b.deadline ?? '9') || a.since.localeCompare(b.since))
    },
  })
}
