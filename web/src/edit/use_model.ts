import {useCallback, useSyncExternalStore} from 'react'
import type {DocumentModel, Layout} from './model.ts'

// useText gives the text of a model as it is now.
export function useText(model: DocumentModel): string {
  return useSyncExternalStore(
    useCallback(f => model.subscribe(f), [model]),
    () => model.text,
  )
}

// useLayout gives the layout of a model as it is now; null: no edit gave one.
export function useLayout(model: DocumentModel): Layout | null {
  return useSyncExternalStore(
    useCallback(f => model.subscribe(f), [model]),
    () => model.layout,
  )
}

// useHistory tells whether there is something to undo and to redo.
export function useHistory(model: DocumentModel): {canUndo: boolean; canRedo: boolean} {
  const both = useSyncExternalStore(
    useCallback(f => model.subscribe(f), [model]),
    () => (model.canUndo ? 1 : 0) + (model.canRedo ? 2 : 0),
  )
  return {canUndo: (both & 1) > 0, canRedo: (both & 2) > 0}
}
