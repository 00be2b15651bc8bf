import createClient, {type Middleware} from 'openapi-fetch'
import {parse, stringify} from '../lib/exact.ts'
import {apiBase, base} from './base.ts'
import type {components, paths} from './schema.gen.ts'

export type Schemas = components['schemas']
export type Problem = Schemas['Problem']

// pageHeader makes the session cookie count: a page of another origin cannot send the header
// without a preflight request.
export const pageHeader = {'Hocket-Page': '1'} as const

// ApiError is an unsuccessful response of the API, or the absence of a response.
export class ApiError extends Error {
  constructor(
    readonly problem: Problem,
    readonly request: string,
  ) {
    super(problem.detail ?? problem.title)
  }

  get status(): number {
    return this.problem.status
  }
}

// isGone reports whether the requested resource does not exist or no longer exists. Another request
// would be rejected again.
export const isGone = (err: unknown): boolean => err instanceof ApiError && (err.status === 404 || err.status === 410)

const listeners = new Set<() => void>()

// onSignedOut registers a callback for the time when the server no longer knows the session.
export function onSignedOut(f: () => void): () => void {
  listeners.add(f)
  return () => listeners.delete(f)
}

export function signedOut(): void {
  for (const f of listeners) f()
}

export const offline = (err: unknown): ApiError =>
  new ApiError(
    {
      title: 'The server does not answer',
      status: 0,
      code: 'internal',
      detail: err instanceof Error ? err.message : String(err),
    } as Problem,
    '',
  )

const session: Middleware = {
  onRequest({request}) {
    for (const [name, value] of Object.entries(pageHeader)) request.headers.set(name, value)
    return request
  },
  onResponse({request, response}) {
    if (response.status === 401 && new URL(request.url).pathname !== `${apiBase}/session`) signedOut()
    return response
  },
}

export const client = createClient<paths>({
  baseUrl: base || window.location.origin,
  credentials: 'same-origin',
  cache: 'no-store',
  bodySerializer: body => stringify(body),
})
client.use(session)

type Answer<T> = {data?: T; error?: unknown; response: Response}

// ask returns the data of a response. It throws ApiError.
export async function ask<T>(answer: Promise<Answer<T>>): Promise<T> {
  let got: Answer<T>
  try {
    got = await answer
  } catch (err) {
    throw offline(err)
  }
  if (got.response.ok) return got.data as T
  const request = got.response.headers.get('X-Request-Id') ?? ''
  const e = got.error
  if (e && typeof e === 'object' && 'title' in e) throw new ApiError(e as Problem, request)
  throw new ApiError(
    {
      title: `The server answered with status ${got.response.status}`,
      status: got.response.status,
      code: 'internal',
    } as Problem,
    request,
  )
}

// askExact returns the data of a response that was requested as text, with its numbers as written.
export async function askExact<T>(answer: Promise<Answer<unknown>>): Promise<T> {
  return parse(String(await ask(answer))) as T
}
