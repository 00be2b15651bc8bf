import {createContext, useContext} from 'react'
import type {Session} from '../api/session.ts'

export const SessionContext = createContext<Session | null>(null)

// useSession returns the session of the signed-in user. Pages are shown only to signed-in users.
export function useSession(): Session {
  const s = useContext(SessionContext)
  if (!s) throw new Error('a page is shown without a session')
  return s
}
