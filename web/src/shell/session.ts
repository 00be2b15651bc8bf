import {createContext, useContext} from 'react'
import type {Session} from '../api/session.ts'

export const SessionContext = createContext<Session | null>(null)

// useSession gives who is signed in. Pages are shown to them alone.
export function useSession(): Session {
  const s = useContext(SessionContext)
  if (!s) throw new Error('a page is shown without a session')
  return s
}
