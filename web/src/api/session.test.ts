import {beforeEach, expect, it, vi} from 'vitest'
import {arrive} from './session.ts'

// Stubs for the page's address, storage and server: signedIn is the name of the current session.
const {server} = vi.hoisted(() => {
  const server = {signedIn: '', codes: {} as Record<string, string>, requests: [] as string[]}
  const unauthorized = () => Response.json({title: 'Unauthorized', status: 401, code: 'unauthorized'}, {status: 401})
  vi.stubGlobal('document', {querySelector: () => ({content: '/'})})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
  vi.stubGlobal('localStorage', {getItem: () => '1', setItem: () => {}, removeItem: () => {}})
  const real = Request
  vi.stubGlobal(
    'Request',
    class extends real {
      constructor(url: string, init?: RequestInit) {
        super(new URL(url, 'http://127.0.0.1'), init)
      }
    },
  )
  vi.stubGlobal('fetch', async (at: string | Request, init?: RequestInit) => {
    const r = at instanceof Request ? at : new Request(at, init)
    server.requests.push(r.method)
    if (r.method === 'POST') {
      const code = (r.headers.get('Authorization') ?? '').replace('Bearer ', '')
      if (!server.codes[code]) return unauthorized()
      server.signedIn = server.codes[code]
    }
    return server.signedIn ? Response.json({name: server.signedIn}) : unauthorized()
  })
  return {server}
})

beforeEach(() => Object.assign(server, {signedIn: '', codes: {hkc_1: 'mallory'}, requests: []}))

it('signs nobody in by a code alone, and does not use the code up', async () => {
  const {session, code} = await arrive('hkc_1')
  expect([session, code, server.signedIn]).toEqual([null, 'hkc_1', ''])
  expect(server.requests).not.toContain('POST')
})

it('does not replace a session by a code, and does not use the code up', async () => {
  server.signedIn = 'ann'
  const {session, code} = await arrive('hkc_1')
  expect([session?.name, code, server.signedIn]).toEqual(['ann', 'hkc_1', 'ann'])
  expect(server.requests).toEqual(['GET'])
})

it('takes the session where there is no code', async () => {
  server.signedIn = 'ann'
  expect(await arrive('')).toMatchObject({session: {name: 'ann'}, code: ''})
})
