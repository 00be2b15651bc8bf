import {useQuery} from '@tanstack/react-query'
import {useMemo} from 'react'
import {ask, client} from '../api/client.ts'
import {formats} from '../lib/formats.ts'
import type {SchemaObject} from '../lib/json_schema.ts'
import {isRecord} from '../lib/record.ts'
import type {Known} from './complete/offers.ts'

// SchemaQuery is the schema of a format: data is undefined until it is known, error why it cannot be had.
export type SchemaQuery = {data: unknown; error: unknown; again: () => void}

// useSchema asks for the schema of a format as the server publishes it.
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

// useKnown gives what completion and hover go by: the schema of a format, and the agents that are stored on the server. What cannot be had is not offered.
export function useKnown(format: string, schema: unknown): Known {
  const agents = useQuery({
    queryKey: ['agents', 'names'],
    queryFn: async () => {
      const got = await ask(client.GET('/api/v1/agents', {params: {query: {limit: 200}}}))
      return (got.items ?? []).flatMap(a => (a.id ? [a.id] : []))
    },
    staleTime: 60_000,
  })
  return useMemo(() => ({format, schema: isRecord(schema) ? (schema as SchemaObject) : null, agents: agents.data ?? []}), [format, schema, agents.data])
}
