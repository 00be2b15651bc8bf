import {useQuery} from '@tanstack/react-query'
import {useMemo} from 'react'
import {ask, client} from '../api/client.ts'
import {useCatalog} from '../canvas/agents.ts'
import {formats} from '../lib/formats.ts'
import type {SchemaObject} from '../lib/json_schema.ts'
import {isRecord} from '../lib/record.ts'
import type {Vocabulary} from './complete/offers.ts'

// SchemaQuery is the schema of a format: data is undefined until it is loaded, and error is the
// reason why it could not be loaded.
export type SchemaQuery = {data: unknown; error: unknown; again: () => void}

// useSchema requests the schema of a format as the server publishes it.
export function useSchema(format: string): SchemaQuery {
  const name = formats.find(f => f === format)
  const {data, error, refetch} = useQuery({
    queryKey: ['schema', name],
    queryFn: () => ask<unknown>(client.GET('/api/v1/schemas/{format}', {params: {path: {format: name!}}})),
    enabled: name !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return {data, error, again: () => void refetch()}
}

// useVocabulary returns the vocabulary for completion and hover: the schema of a format, and the
// agents that are stored on the server. Unavailable parts are not offered.
export function useVocabulary(format: string, schema: unknown): Vocabulary {
  const {catalog} = useCatalog(true)
  return useMemo(
    () => ({format, schema: isRecord(schema) ? (schema as SchemaObject) : null, agents: catalog.agents.map(a => a.id)}),
    [format, schema, catalog],
  )
}
