import {useQuery} from '@tanstack/react-query'
import {useEffect, useMemo, useRef, useState} from 'react'
import {ApiError, ask, client, type Schemas} from '../api/client.ts'
import type {DocumentModel} from '../edit/model.ts'
import {keeper} from './layout_keeper.ts'
import {flatOf, storedOf} from './layout_keys.ts'
import type {Layout} from './operations.ts'
import {placesNow} from './steps.ts'

type Stored = {layout: Schemas['Layout']; etag: string}

async function read(id: string): Promise<Stored> {
  const answer = client.GET('/api/v1/workflows/{id}/layout', {params: {path: {id}}})
  const layout = await ask(answer)
  return {layout, etag: (await answer).response.headers.get('ETag') ?? ''}
}

async function write(id: string, was: Stored, places: Layout): Promise<Stored> {
  const layout = storedOf(places)
  const answer = client.PUT('/api/v1/workflows/{id}/layout', {
    params: {path: {id}, header: {'If-Match': was.etag}},
    body: layout,
  })
  await ask(answer)
  return {layout, etag: (await answer).response.headers.get('ETag') ?? ''}
}

export type StoredLayout = {base: Layout | null; error: unknown}

// useStoredLayout returns the positions that are stored with a workflow, and stores moves, without
// creating a version. base is null until it is known. isNew means that nothing of the workflow is
// stored yet: its drawing is kept when the workflow is first stored, and its positions are stored
// then.
export function useStoredLayout(
  id: string,
  model: DocumentModel,
  isNew: boolean,
  mayRead: boolean,
  mayEdit: boolean,
): StoredLayout {
  const [error, setError] = useState<unknown>(null)
  const wasNew = useRef(isNew)
  const got = useQuery({
    queryKey: ['layout', id],
    queryFn: () => read(id),
    enabled: mayRead,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  const {data} = got
  useEffect(() => {
    if (!data || !mayEdit) return
    const k = keeper(data, {
      store: (was, nodes) => write(id, was, nodes),
      nodes: s => flatOf(s.layout),
      again: () => read(id),
      isConflict: err => err instanceof ApiError && (err.status === 409 || err.status === 412),
      failed: setError,
    })
    if (wasNew.current && model.layout) k.keep(model.layout)
    wasNew.current = false
    const leave = model.subscribe(u => u.layout && k.keep(placesNow(model, flatOf(data.layout))))
    return () => {
      leave()
      k.flush()
    }
  }, [data, id, model, mayEdit])
  const base = useMemo(() => (data ? flatOf(data.layout) : null), [data])
  return {base: base ?? (got.error || !mayRead || wasNew.current ? none : null), error: error ?? got.error}
}

const none: Layout = {}
