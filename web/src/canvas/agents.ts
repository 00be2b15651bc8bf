import {useQuery} from '@tanstack/react-query'
import {ask, client} from '../api/client.ts'
import type {Canvas} from './document.ts'

// Known is an agent that a node of a rounds document may name, and where it is defined.
export type Known = {id: string; name: string; from: 'the document' | 'the catalog'}

const none: readonly Known[] = []

async function read(): Promise<Known[]> {
  const {items} = await ask(client.GET('/api/v1/agents', {params: {query: {limit: 200}}}))
  return (items ?? []).flatMap(a => (a.id ? [{id: a.id, name: a.name || a.id, from: 'the catalog' as const}] : []))
}

// useCatalogAgents gives the agents of the catalog.
export function useCatalogAgents(enabled: boolean): readonly Known[] {
  return useQuery({queryKey: ['agents'], queryFn: read, enabled}).data ?? none
}

// knownAgents gives the agents of a document, and behind them those of the catalog that it does not define itself.
export function knownAgents(c: Canvas, catalog: readonly Known[]): Known[] {
  if (c.shape.format !== 'rounds') return []
  const own = [...new Map(c.agents.map(a => [a.id, {id: a.id, name: a.name, from: 'the document' as const}])).values()]
  return [...own, ...catalog.filter(a => !own.some(o => o.id === a.id))]
}
