import {useEffect, useMemo, useSyncExternalStore} from 'react'
import type {Definition} from '../run/types.ts'
import {type LiveRun, RunSource} from './run_source.ts'

// useRun follows a run. def is its graph, null if there is none, or undefined while it is not known
// yet.
export function useRun(id: string, def: Definition | null | undefined): LiveRun | null {
  const source = useMemo(() => (def === undefined ? null : new RunSource(id, def)), [id, def])
  useEffect(() => source?.start(), [source])
  return useSyncExternalStore(source?.subscribe ?? none, source?.get ?? empty)
}

const none = () => () => {}
const empty = () => null
