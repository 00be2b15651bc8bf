import {expect, it, vi} from 'vitest'
import {client, onSignedOut} from './client.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => ({content: '/hocket/'})})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
  const real = Request
  vi.stubGlobal(
    'Request',
    class extends real {
      constructor(url: string, init?: RequestInit) {
        super(new URL(url, 'http://127.0.0.1'), init)
      }
    },
  )
  vi.stubGlobal('fetch', async () =>
    Response.json({title: 'Unauthorized', status: 401, code: 'unauthorized'}, {status: 401}),
  )
})

it('is signed out where the server no longer knows the session, of whatever it was asked', async () => {
  let out = 0
  onSignedOut(() => out++)
  await client.GET('/api/v1/session')
  expect(out).toBe(0)
  await client.GET('/api/v1/workflows/{id}', {params: {path: {id: 'session'}}})
  expect(out).toBe(1)
})
