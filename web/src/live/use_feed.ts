import {useQueryClient} from '@tanstack/react-query'
import {useEffect, useState} from 'react'
import {isGone} from '../api/client.ts'
import {type FeedState, follow, onNotice} from './feed.ts'

const all = ['runs', 'counts', 'waits', 'workflows', 'schedules']

// changedBy gives what a notice of a type may have changed, by the first words of the keys of queries.
export const changedBy = (type: string): string[] =>
  /^(run|wait)\./.test(type) ? ['runs', 'counts', 'waits'] : type.startsWith('workflow.') ? ['workflows', 'schedules'] : all

// useFeed asks anew for what a notice says has changed, and for all when there is a stream again: new runs and changes of workflows have no number behind which to go on. Many
// notices at a time ask once. What was not there, as a workflow that was deleted elsewhere, is not asked for again.
export function useFeed(): FeedState {
  const queries = useQueryClient()
  const [state, setState] = useState<FeedState>('connecting')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const keys = new Set<string>()
    const ask = (changed: string[]) => {
      for (const key of changed) keys.add(key)
      timer ??= setTimeout(() => {
        timer = undefined
        for (const key of keys) void queries.invalidateQueries({queryKey: [key], predicate: q => !isGone(q.state.error)})
        keys.clear()
      }, 250)
    }
    const leave = onNotice(n => ask(changedBy(n.type)))
    const stop = follow(s => {
      setState(s)
      if (s === 'open') ask(all)
    })
    return () => {
      stop()
      leave()
      clearTimeout(timer)
    }
  }, [queries])
  return state
}
