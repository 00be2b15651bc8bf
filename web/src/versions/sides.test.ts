import {QueryClient} from '@tanstack/react-query'
import {expect, it, vi} from 'vitest'
import type {Version} from '../edit/stored.ts'
import {sideOf} from './versions.ts'

const asked = vi.hoisted(() => {
  const asked: string[] = []
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
  vi.stubGlobal('fetch', async (q: Request) => {
    asked.push(`${q.method} ${new URL(q.url).pathname.slice('/api/v1/'.length)}`)
    const tag = `"${asked.length}"`
    if (q.method === 'POST') return Response.json({format: 'steps', diagnostics: [], graph: null})
    return Response.json({id: 'a', version: 1, document: 'workflow: []'}, {headers: {ETag: tag}})
  })
  return asked
})

const version = (number: number, createdAt: string) => ({number, createdAt}) as Version

it('compiles the text of a version once, and reads the tag of the workflow each time', async () => {
  const queries = new QueryClient()
  const one = await sideOf(queries, 'a', version(1, '2026-01-01T00:00:00Z'))
  const two = await sideOf(queries, 'a', version(1, '2026-01-01T00:00:00Z'))
  expect(asked).toEqual(['GET workflows/a', 'POST documents/compile', 'GET workflows/a'])
  expect(two.check).toBe(one.check)
  expect(two.etag).not.toBe(one.etag)
  // A workflow that was deleted and stored again has other texts under the same version numbers.
  await sideOf(queries, 'a', version(1, '2026-01-02T00:00:00Z'))
  expect(asked).toHaveLength(5)
})
