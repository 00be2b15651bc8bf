import {useQueryClient} from '@tanstack/react-query'
import {useEffect, useState} from 'react'
import {isGone} from '../api/client.ts'
import {type FeedState, follow, onNotice} from './feed.ts'

// useFeed asks anew for what a notice says has changed, and for all when there is a stream again: new runs and changes of workflows have no number behind which to go on. Many
// notices at a time ask once. What was not there, as a workflow that was deleted elsewhere, is not asked for again.
export function useFeed(): FeedState {
  const queries = useQueryClient()
  const [state, setState] = useState<FeedState>('connecting')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        for (const key of ['runs', 'counts', 'waits', 'workflows']) void queries.invalidateQueries({queryKey: [key], predicate: q => !isGone(q.state.error)})
      }, 250)
    }
    const leave = onNotice(ask)
    const stop = follow(s => {
      setState(s)
      if (s === 'open') ask()
    })
    return () => {
      stop()
      leave()
      clearTimeout(timer)
    }
  }, [queries])
  return state
}
