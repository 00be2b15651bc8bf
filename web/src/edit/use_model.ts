import {useCallback, useSyncExternalStore} from 'react'
import type {DocumentModel, Layout} from './model.ts'

// useText returns the current text of a model.
export function useText(model: DocumentModel): string {
  return useSyncExternalStore(
    useCallback(f => model.subscribe(f), [model]),
    () => model.text,
  )
}

// useLayout returns the current layout of a model, or null if no edit has set one.
export function useLayout(model: DocumentModel): Layout | null {
  return useSyncExternalStore(
    useCallback(f => model.subscribe(f), [model]),
    () => model.layout,
  )
}

// useHistory reports whether a change can be undone or redone.
export function useHistory(model: DocumentModel): {canUndo: boolean; canRedo: boolean} {
  const both = useSyncExternalStore(
    useCallback(f => model.subscribe(f), [model]),
    () => (model.canUndo ? 1 : 0) + (model.canRedo ? 2 : 0),
  )
  return {canUndo: (both & 1) > 0, canRedo: (both & 2) > 0}
}
