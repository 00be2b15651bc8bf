import {apiBase} from './base.ts'
import {ApiError, ask, client, offline, type Problem, pageHeader, type Schemas} from './client.ts'

export type Session = Schemas['Session']

// takeCode returns the one-time code of the address and removes it from the address and from the
// history. It runs before all other code.
export function takeCode(): string {
  const code = new URLSearchParams(window.location.hash.slice(1)).get('code') ?? ''
  if (code) window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
  return code
}

const mark = 'hocket-signed-in'

// note remembers whether there may be a session, so that a page without one sends no request. The
// flag is not a secret.
function note(signedIn: boolean): void {
  try {
    if (signedIn) localStorage.setItem(mark, '1')
    else localStorage.removeItem(mark)
  } catch {
    // without storage the server is asked
  }
}

const mayHave = (): boolean => {
  try {
    return localStorage.getItem(mark) !== null
  } catch {
    return true
  }
}

// getSession returns the current session, or null if a person has to sign in.
export async function getSession(): Promise<Session | null> {
  if (!mayHave()) return null
  try {
    return await ask(client.GET('/api/v1/session'))
  } catch (err) {
    if (err instanceof ApiError && err.status === 401) {
      note(false)
      return null
    }
    throw err
  }
}

// signIn starts a session with a token or a one-time code, which is sent in a header and stored
// nowhere.
export async function signIn(secret: string): Promise<Session> {
  let answer: Response
  try {
    answer = await fetch(`${apiBase}/session`, {
      method: 'POST',
      credentials: 'same-origin',
      headers: {...pageHeader, Authorization: `Bearer ${secret}`},
    })
  } catch (err) {
    throw offline(err)
  }
  const body: unknown = await answer
    .json()
    .catch(() => ({title: 'The server gave no answer', status: answer.status, code: 'internal'}))
  if (!answer.ok) throw new ApiError(body as Problem, answer.headers.get('X-Request-Id') ?? '')
  note(true)
  return body as Session
}

// Arrival is what the page begins with: the session, or null if a person has to sign in, and the code
// of a link, which the person has to confirm, or ''.
export type Arrival = {session: Session | null; code: string}

// arrive returns what the page begins with. Any other site may have a link with a code of its own, so
// no code is used without a question.
export async function arrive(code: string): Promise<Arrival> {
  return {session: await getSession(), code}
}

export async function signOut(): Promise<void> {
  await ask(client.DELETE('/api/v1/session'))
  note(false)
}

const ranks = {run: 0, edit: 1, admin: 2} as const

// may reports whether a session has at least the given role.
export const may = (s: Session, role: keyof typeof ranks): boolean => ranks[s.role] >= ranks[role]
