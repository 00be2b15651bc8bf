import {describe, expect, it, vi} from 'vitest'
import {isConflict, readStored, storeDraft} from './stored.ts'
import {unstored} from './unstored.ts'

// The client captures fetch when it is created.
const net = vi.hoisted(() => {
  const net = {fetch: async (_: Request): Promise<Response> => new Response()}
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
  vi.stubGlobal('fetch', (q: Request) => net.fetch(q))
  return net
})

type Now = {versions: number[]; draft: number | null; published: number | null}

// server has one workflow, whose texts are the numbers of their versions. after is called after
// each response.
const server = (now: Now, after: (asked: string[]) => void = () => {}) => {
  const asked: string[] = []
  net.fetch = async q => {
    const url = new URL(q.url)
    asked.push(url.pathname.split('/').slice(5).join('/') + url.search)
    const {versions, draft, published} = now
    let answer: Response
    if (url.pathname.endsWith('/versions')) {
      const limit = Number(url.searchParams.get('limit'))
      answer = Response.json({
        items: versions
          .slice(0, limit)
          .map(number => ({number, draft: number === draft, published: number === published})),
      })
    } else {
      const v = url.searchParams.get('version')
      const version = v === null ? published : Number(v)
      answer = Response.json(
        {id: 'a', version, draft, published, document: `text ${version}`},
        {headers: {ETag: `"${versions.length}-${draft}-${published}"`}},
      )
    }
    after(asked)
    return answer
  }
  return asked
}

describe('the version that is edited', () => {
  it('is the draft, read with two requests', async () => {
    const asked = server({versions: [4, 3, 2, 1], draft: 4, published: 2})
    expect(await readStored('a')).toMatchObject({text: 'text 4', etag: '"4-4-2"'})
    expect(asked).toHaveLength(2)
  })
  it('is the published one where there is no draft, however old it is', async () => {
    server({versions: Array.from({length: 300}, (_, i) => 300 - i), draft: null, published: 7})
    expect(await readStored('a')).toMatchObject({text: 'text 7', definition: {version: 7}})
  })
  it('is the published one for who may not edit', async () => {
    const asked = server({versions: [2, 1], draft: 2, published: 1})
    expect(await readStored('a', false)).toMatchObject({text: 'text 1'})
    expect(asked).toHaveLength(1)
  })
  it('is that of rows where there are no versions', async () => {
    server({versions: [], draft: null, published: null})
    expect(await readStored('a')).toMatchObject({definition: {version: null}})
  })
  it('has the tag of its own text where another client stores between the requests', async () => {
    const now: Now = {versions: [4, 3], draft: 4, published: 3}
    server(now, asked => {
      if (asked.length === 1) Object.assign(now, {versions: [5, 4, 3], draft: 5})
    })
    expect(await readStored('a')).toMatchObject({text: 'text 5', etag: '"3-5-3"'})
  })
  it('is not given where it changes with each request', async () => {
    const now: Now = {versions: [4], draft: 4, published: null}
    server(now, () => {
      const next = now.versions[0]! + 1
      Object.assign(now, {versions: [next, ...now.versions], draft: next})
    })
    await expect(readStored('a')).rejects.toThrow('changes all the time')
  })
})

describe('the first version', () => {
  it('is created, and takes no id that is taken', async () => {
    const asked: [string, string, unknown][] = []
    net.fetch = async q => {
      const body: unknown = await q.json()
      asked.push([q.method, new URL(q.url).pathname, body])
      if (asked.length > 1)
        return Response.json(
          {status: 409, code: 'conflict', reason: 'definition-changed', title: 'Conflict'},
          {status: 409},
        )
      return Response.json(
        {id: 'a', version: 1, draft: 1, published: null, document: 'text'},
        {status: 201, headers: {ETag: '"1"'}},
      )
    }
    expect(await storeDraft(unstored('a'), 'text')).toMatchObject({etag: '"1"', text: 'text'})
    expect(asked).toEqual([['POST', '/api/v1/workflows', {id: 'a', document: 'text', draft: true}]])
    const again = await storeDraft(unstored('a'), 'text').catch((err: unknown) => err)
    expect(isConflict(again)).toBe(true)
  })
})
