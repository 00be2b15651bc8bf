import {QueryClient, QueryObserver} from '@tanstack/react-query'
import {describe, expect, it} from 'vitest'
import type {Stored} from '../edit/stored.ts'
import {deleteStored, type Ending, forgetStored, storedQuery} from './workflow_query.ts'

const stored = {text: 'workflow: []', etag: '"1"'} as Stored

// opened returns a page that shows the workflow a, and the requests that it sends.
async function opened() {
  const queries = new QueryClient()
  queries.mount()
  const ending: Ending = {now: false}
  const asked: {signal: AbortSignal; answer: () => void}[] = []
  const read = (signal: AbortSignal) =>
    new Promise<Stored>(answer => asked.push({signal, answer: () => answer(stored)}))
  const observer = new QueryObserver<Stored>(queries, storedQuery('a', ending, read))
  const leave = observer.subscribe(() => undefined)
  asked[0]!.answer()
  await expect.poll(() => observer.getCurrentResult().data).toBe(stored)
  const changed = () => queries.invalidateQueries({queryKey: ['workflows']})
  return {queries, ending, asked, observer, leave, changed}
}

describe('a stored workflow', () => {
  it('is asked for again when the feed says that workflows have changed', async () => {
    const {asked, changed} = await opened()
    void changed()
    expect(asked.length).toBe(2)
  })
  it('is not asked for while it is being deleted, nor after that', async () => {
    const {queries, ending, asked, observer, leave, changed} = await opened()
    let answer = () => {}
    const answered = new Promise<void>(done => {
      answer = done
    })
    const deleting = deleteStored(queries, 'a', ending, () => answered)
    void changed()
    expect(asked.length).toBe(1)
    answer()
    await deleting
    void changed()
    expect(asked.length).toBe(1)
    expect(observer.getCurrentResult()).toMatchObject({data: stored, error: null})
    leave()
    forgetStored(queries, 'a')
    void changed()
    expect(asked.length).toBe(1)
    expect(queries.getQueryCache().getAll()).toEqual([])
  })
  it('is no longer waited for once it is being deleted', async () => {
    const {queries, ending, asked, changed} = await opened()
    void changed()
    const order: string[] = []
    asked[1]!.signal.addEventListener('abort', () => order.push('request ended'))
    await deleteStored(queries, 'a', ending, async () => order.push('deleted'))
    expect(order).toEqual(['request ended', 'deleted'])
  })
  it('is asked for again where it cannot be deleted', async () => {
    const {queries, ending, asked} = await opened()
    await expect(deleteStored(queries, 'a', ending, () => Promise.reject(new Error('changed')))).rejects.toThrow(
      'changed',
    )
    expect(asked.length).toBe(2)
  })
})
