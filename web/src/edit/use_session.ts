import {useCallback, useEffect, useState, useSyncExternalStore} from 'react'
import {guardLeaving} from '../shell/leave.ts'
import {localDrafts} from './local_draft.ts'
import {DocumentModel} from './model.ts'
import {Session, type State} from './session.ts'
import {publishDraft, readStored, type Stored, storeDraft} from './stored.ts'
import {isUnstored} from './unstored.ts'

// useSession opens a session for a workflow that was read.
export function useSession(
  namespace: string,
  id: string,
  stored: Stored,
): {session: Session; state: State; model: DocumentModel} {
  const [session] = useState(
    () =>
      new Session(
        new DocumentModel((isUnstored(stored) && localDrafts(namespace, id).read()?.text) || stored.text),
        stored,
        {
          read: () => readStored(id),
          store: storeDraft,
          publish: publishDraft,
          drafts: localDrafts(namespace, id),
          now: () => new Date(),
        },
      ),
  )
  useEffect(() => session.open(), [session])
  const state = useSyncExternalStore(
    useCallback(f => session.subscribe(f), [session]),
    () => session.state,
  )
  return {session, state, model: session.model}
}

export type Leaving = {go: () => void; stay: () => void}

// useLeaving asks before a navigation leaves unsaved changes. If the browser itself leaves the
// page, it asks in its own words.
export function useLeaving(session: Session, unsaved: boolean, own: string): Leaving | null {
  const [held, setHeld] = useState<Leaving | null>(null)
  useEffect(() => {
    if (!unsaved) return
    const keep = (e: BeforeUnloadEvent) => {
      session.keepNow()
      e.preventDefault()
    }
    window.addEventListener('beforeunload', keep)
    const leave = guardLeaving((to, go) => {
      if (to.split('?')[0] === own) return false
      setHeld({go, stay: () => setHeld(null)})
      return true
    })
    return () => {
      window.removeEventListener('beforeunload', keep)
      leave()
    }
  }, [session, unsaved, own])
  return held
}
