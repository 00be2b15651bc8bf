import {type QueryClient, useQueryClient} from '@tanstack/react-query'
import {useEffect, useState} from 'react'
import {isGone} from '../api/client.ts'
import {type FeedState, follow, onNotice} from './feed.ts'

const all = ['runs', 'counts', 'waits', 'workflows', 'schedules']

// changedBy gives what a notice of a type may have changed, by the first words of the keys of queries.
export const changedBy = (type: string): string[] =>
  /^(run|wait)\./.test(type)
    ? ['runs', 'counts', 'waits']
    : type.startsWith('workflow.')
      ? ['workflows', 'schedules']
      : all

const pause = 250
const share = 4 // the pause is so many times as long as the answers took
const longest = 10_000

// Asking asks anew for the queries of some keys: many at a time once. What is being asked already is answered first, so that a slow answer comes in spite of many notices, and the first stream
// does not ask for all that the page has just asked for beside it; what is not answered within seconds is asked for again in its place. What takes a server long is asked for less often.
export class Asking {
  readonly #queries: QueryClient
  readonly #keys = new Map<string, number>() // since when they wait
  #timer: ReturnType<typeof setTimeout> | undefined
  #from = 0 // when there may be a request again

  constructor(queries: QueryClient) {
    this.#queries = queries
  }

  ask(keys: readonly string[]): void {
    for (const key of keys) if (!this.#keys.has(key)) this.#keys.set(key, performance.now())
    this.#timer ??= setTimeout(() => void this.#now(), Math.max(pause, this.#from - performance.now()))
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#keys.clear()
  }

  async #now(): Promise<void> {
    const begun = performance.now()
    this.#timer = undefined
    if (begun < this.#from) return this.ask([])
    const asked: Promise<void>[] = []
    for (const [key, since] of this.#keys) {
      if (begun < since + longest && this.#queries.isFetching({queryKey: [key]}) > 0) continue
      this.#keys.delete(key)
      asked.push(this.#queries.invalidateQueries({queryKey: [key], predicate: q => !isGone(q.state.error)}))
    }
    if (this.#keys.size > 0) this.ask([])
    await Promise.allSettled(asked)
    const now = performance.now()
    this.#from = Math.max(this.#from, now + Math.min(longest, share * (now - begun)))
  }
}

// useFeed asks anew for what a notice says has changed, and for all when there is a stream again: new runs and changes of workflows have no number behind which to go on. What was not
// there, as a workflow that was deleted elsewhere, is not asked for again.
export function useFeed(): FeedState {
  const queries = useQueryClient()
  const [state, setState] = useState<FeedState>('connecting')
  useEffect(() => {
    const asking = new Asking(queries)
    const leave = onNotice(n => asking.ask(changedBy(n.type)))
    const stop = follow(s => {
      setState(s)
      if (s === 'open') asking.ask(all)
    })
    return () => {
      stop()
      leave()
      asking.stop()
    }
  }, [queries])
  return state
}
