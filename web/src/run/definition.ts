import {useQuery} from '@tanstack/react-query'
import {ApiError, ask, client} from '../api/client.ts'
import type {Definition} from './types.ts'

// definitionOf returns the graph of a run, or null if the server has none.
async function definitionOf(id: string): Promise<Definition | null> {
  try {
    return (await ask(client.GET('/api/v1/runs/{id}/definition', {params: {path: {id}}}))) as unknown as Definition
  } catch (err) {
    if (!(err instanceof ApiError) || err.status !== 404) throw err
    // the API reports that there is no such run
    await ask(client.GET('/api/v1/runs/{id}', {params: {path: {id}, query: {steps: 'none'}}}))
    return null
  }
}

// useDefinition requests the graph of a run, which never changes.
export const useDefinition = (id: string) =>
  useQuery({queryKey: ['definition', id], queryFn: () => definitionOf(id), staleTime: Number.POSITIVE_INFINITY})
