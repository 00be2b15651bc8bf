import {useQuery} from '@tanstack/react-query'
import {useMemo} from 'react'
import {ask, client} from '../api/client.ts'
import type {Canvas} from './document.ts'

// KnownAgent is an agent that a node of a rounds document can name, and where it is defined.
export type KnownAgent = {id: string; name: string; from: 'the document' | 'the catalog'}

// Catalog has the agents of the catalog. Until complete is true, some may be missing.
export type Catalog = {agents: readonly KnownAgent[]; complete: boolean}

export const unread: Catalog = {agents: [], complete: false}

type Page = {items: readonly {id?: string; name?: string}[] | null; next: string}

// allAgents reads the catalog page by page to its end.
export async function allAgents(page: (cursor: string) => Promise<Page>): Promise<KnownAgent[]> {
  const out: KnownAgent[] = []
  for (let cursor = ''; ; ) {
    const {items, next} = await page(cursor)
    for (const a of items ?? []) if (a.id) out.push({id: a.id, name: a.name || a.id, from: 'the catalog'})
    if (!next) return out
    cursor = next
  }
}

const read = (cursor: string) =>
  ask(client.GET('/api/v1/agents', {params: {query: {limit: 200, ...(cursor ? {cursor} : {})}}}))

// useCatalog returns the agents of the catalog. error is the reason why they could not be loaded.
export function useCatalog(enabled: boolean): {catalog: Catalog; error: unknown; again: () => void} {
  const {data, error, refetch} = useQuery({
    queryKey: ['agents'],
    queryFn: () => allAgents(read),
    enabled,
    staleTime: 60_000,
  })
  const catalog = useMemo(() => (data ? {agents: data, complete: true} : unread), [data])
  return {catalog, error: data ? null : error, again: () => void refetch()}
}

// knownAgents returns the agents of a document, followed by the agents of the catalog that it does
// not define itself.
export function knownAgents(c: Canvas, catalog: readonly KnownAgent[]): KnownAgent[] {
  if (c.shape.format !== 'rounds') return []
  const own = [...new Map(c.agents.map(a => [a.id, {id: a.id, name: a.name, from: 'the document' as const}])).values()]
  return [...own, ...catalog.filter(a => !own.some(o => o.id === a.id))]
}

// Where describes the definition of an agent that a node names.
export type Where = {word: string; missing: boolean}

// whereIs returns where the agent with an id is defined. It is missing only if the whole catalog
// was read.
export function whereIs(c: Canvas, catalog: Catalog, id: string): Where {
  if (id === '') return {word: 'A node runs one agent.', missing: false}
  if (c.agents.some(a => a.id === id))
    return {word: 'It is defined in this document, and edited below.', missing: false}
  if (catalog.agents.some(a => a.id === id)) return {word: 'It is defined in the catalog.', missing: false}
  if (!catalog.complete)
    return {word: 'The document does not define it, and the agents of the catalog are not known.', missing: false}
  return {word: 'Neither the document nor the catalog has it.', missing: true}
}
