import type {QueryClient} from '@tanstack/react-query'
import {ApiError, ask, client, type Schemas} from '../api/client.ts'
import {type Check, checkText} from '../edit/check.ts'
import type {Version} from '../edit/stored.ts'

// nameOf returns the name of a version with its role.
export const nameOf = (v: Version): string => `v${v.number}${v.published ? ', published' : v.draft ? ', draft' : ''}`

export type Side = {number: number; etag: string; check: Check}

// sideOf returns the text of a version, and the server's compilation of it. The text never changes,
// so it is compiled once; the etag changes with the workflow.
export async function sideOf(
  queries: QueryClient,
  id: string,
  v: Pick<Version, 'number' | 'createdAt'>,
): Promise<Side> {
  const {number} = v
  const answer = client.GET('/api/v1/workflows/{id}', {params: {path: {id}, query: {version: number}}})
  const {document} = await ask(answer)
  const etag = (await answer).response.headers.get('ETag') ?? ''
  const check = await queries.fetchQuery({
    queryKey: ['compiled', id, number, v.createdAt],
    queryFn: ({signal}) => checkText(document, '', signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return {number, etag, check}
}

// pairOf returns the two versions to compare: the versions in the address, else the published or
// the previous version, and the newest.
export function pairOf(all: Version[], a: number, b: number): [number, number] {
  const has = (n: number) => all.some(v => v.number === n)
  const second = has(b) ? b : (all.find(v => v.draft) ?? all[0])?.number
  if (second === undefined) return [0, 0]
  const published = all.find(v => v.published && v.number !== second)
  const before = all.find(v => v.number < second)
  const first = has(a) ? a : (published ?? before ?? all.find(v => v.number !== second))?.number
  return [first ?? second, second]
}

export type Author = {name: string; channel: string}

// authorsOf returns the authors of versions, by version number, as far as the audit log has them:
// it is open only to administrators, and only the newest records are read.
export async function authorsOf(id: string, all: Version[]): Promise<Map<number, Author>> {
  const oldest = all.at(-1)?.createdAt
  if (!oldest) return new Map()
  try {
    const since = new Date(Date.parse(oldest) - near).toISOString()
    const {items} = await ask(client.GET('/api/v1/audit', {params: {query: {limit: 200, since}}}))
    return match(id, all, items ?? [])
  } catch (err) {
    if (err instanceof ApiError) return new Map()
    throw err
  }
}

// near is the maximum distance between the times of a version and of its record.
const near = 2000

type Record = Pick<Schemas['AuditRecord'], 'at' | 'actor' | 'channel' | 'action' | 'target' | 'outcome'>

// match finds the record of each version: the one about the workflow that is nearest in time.
export function match(id: string, all: Version[], records: Record[]): Map<number, Author> {
  const own = records.filter(
    r =>
      r.outcome === 'ok' &&
      (r.target === id || r.target === '') &&
      /workflows(\.|$| |\/)/.test(r.action) &&
      !/publish|DELETE/.test(r.action),
  )
  const out = new Map<number, Author>()
  for (const v of all) {
    const at = Date.parse(v.createdAt)
    const best = own.map(r => ({r, far: Math.abs(Date.parse(r.at) - at)})).sort((x, y) => x.far - y.far)[0]
    if (best && best.far <= near) out.set(v.number, {name: best.r.actor, channel: best.r.channel})
  }
  return out
}
