import {type QueryClient, useQueryClient} from '@tanstack/react-query'
import {useEffect, useState} from 'react'
import {isGone} from '../api/client.ts'
import {type FeedState, follow, onNotice} from './feed.ts'

const all = ['runs', 'counts', 'waits', 'workflows', 'schedules']

// changedBy returns what a notice of a type may have changed, as the first elements of query keys.
export const changedBy = (type: string): string[] =>
  /^(run|wait)\./.test(type)
    ? ['runs', 'counts', 'waits']
    : type.startsWith('workflow.')
      ? ['workflows', 'schedules']
      : type.startsWith('schedule.')
        ? ['schedules']
        : all

const pause = 250
const share = 4 // the pause is this many times as long as the responses took
const longest = 10_000

// Asking invalidates the queries with some keys, in batches. A query in flight completes first, so
// that a slow response arrives despite many notices, and the first stream does not repeat the
// requests that the page has just sent; a query that takes several seconds is replaced by a new
// request. Queries that are slow on the server are repeated less often.
export class Asking {
  readonly #queries: QueryClient
  readonly #keys = new Map<string, number>() // the time since which they wait
  #timer: ReturnType<typeof setTimeout> | undefined
  #from = 0 // the earliest time of the next request

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

// useFeed refetches what a notice says has changed, and everything when a stream is reopened: new
// runs and changes of workflows have no number after which to continue. Resources that were not
// found, such as a workflow that was deleted elsewhere, are not requested again.
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
