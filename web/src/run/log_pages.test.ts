import {describe, expect, it, vi} from 'vitest'
import {follower, grown, inTurn, pacer} from './log_pages.ts'

describe('the number by which a tab asks', () => {
  it('is passed on once in a second while events come more often, and at the end at once', () => {
    vi.useFakeTimers()
    try {
      const got: number[] = []
      const p = pacer(n => got.push(n), 1000)
      for (let n = 1; n <= 30; n++) {
        p.tell(n, false)
        vi.advanceTimersByTime(100)
      }
      expect(got).toEqual([10, 20, 30])
      p.tell(31, false)
      p.tell(32, true)
      vi.advanceTimersByTime(5000)
      expect(got).toEqual([10, 20, 30, 32])
      p.tell(33, false)
      p.stop()
      vi.advanceTimersByTime(5000)
      expect(got).toHaveLength(4)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a list that grows', () => {
  type Page = {items: number[]; next?: string}
  const all = (n: number) => Array.from({length: n}, (_, i) => i)
  // The pages have three items, and the cursor is the offset.
  const reader = (list: number[]) => {
    const asked: string[] = []
    return {
      asked,
      read: async (cursor: string): Promise<Page> => {
        asked.push(cursor)
        const from = Number(cursor)
        return {items: list.slice(from, from + 3), ...(from + 3 < list.length ? {next: String(from + 3)} : {})}
      },
    }
  }
  it('keeps the pages that were loaded, and reads the last one and those behind it', async () => {
    const list = all(5)
    const {read, asked} = reader(list)
    const was = {pages: [await read('0'), await read('3')], pageParams: ['0', '3']}
    list.push(5, 6)
    const now = await grown(was, read)
    expect(now.pages.flatMap(p => p.items)).toEqual(all(7))
    expect(now.pageParams).toEqual(['0', '3', '6'])
    expect(asked).toEqual(['0', '3', '3', '6'])
  })
  it('reads nothing where more was there to load', async () => {
    const {read, asked} = reader(all(7))
    const was = {pages: [await read('0')], pageParams: ['0']}
    expect(await grown(was, read)).toBe(was)
    expect(asked).toEqual(['0'])
  })
  it('is read once more where it grew meanwhile, one read after the other', async () => {
    const done: (() => void)[] = []
    const ask = inTurn(() => new Promise<void>(d => done.push(d)))
    ask()
    ask()
    ask()
    expect(done).toHaveLength(1)
    done[0]!()
    await expect.poll(() => done.length).toBe(2)
    done[1]!()
    await new Promise(r => setTimeout(r))
    expect(done).toHaveLength(2)
    ask()
    expect(done).toHaveLength(3)
  })
})

describe('a list that is followed to its end', () => {
  // followed has a list whose reads return answer in turn: a number is the result, a string is an
  // error.
  const followed = (...answers: (number | string | (() => number))[]) => {
    const list = {now: 1, errors: [] as unknown[], reads: 0}
    const f = follower<number>(
      {
        now: () => list.now,
        grow: async () => {
          const a = answers[list.reads++]
          if (typeof a === 'string') throw a
          return typeof a === 'function' ? a() : a!
        },
        put: n => {
          list.now = n
        },
        failed: error => {
          list.errors.push(error)
          return error !== 'gone'
        },
      },
      1000,
    )
    return {list, f}
  }
  const timed = (what: string, play: () => Promise<void>) =>
    it(what, async () => {
      vi.useFakeTimers()
      try {
        await play()
      } finally {
        vi.useRealTimers()
      }
    })
  timed('asks again after a pause where a read failed, and says so until one does not', async () => {
    const {list, f} = followed('no answer', 2)
    f.follow()
    await vi.advanceTimersByTimeAsync(999)
    expect(list).toEqual({now: 1, errors: ['no answer'], reads: 1})
    await vi.advanceTimersByTimeAsync(1)
    expect(list).toEqual({now: 2, errors: ['no answer', null], reads: 2})
    await vi.advanceTimersByTimeAsync(10_000)
    expect(list.reads).toBe(2)
  })
  timed('asks again where the list was replaced during the read', async () => {
    const {list, f} = followed(() => {
      list.now = 5
      return 2
    }, 6)
    f.follow()
    await vi.advanceTimersByTimeAsync(999)
    expect(list.now).toBe(5)
    await vi.advanceTimersByTimeAsync(1)
    expect(list.now).toBe(6)
  })
  timed('asks at once where more is told during the pause, and once', async () => {
    const {list, f} = followed('no answer', 2)
    f.follow()
    await vi.advanceTimersByTimeAsync(10)
    f.follow()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(list).toMatchObject({now: 2, reads: 2})
  })
  timed('asks no more for what is gone, nor once it is left, also during a read', async () => {
    const gone = followed('gone', 2)
    gone.f.follow()
    const left = followed('no answer', 2)
    left.f.follow()
    await vi.advanceTimersByTimeAsync(10)
    left.f.stop()
    const reading = followed('no answer', 2)
    reading.f.follow()
    reading.f.stop()
    await vi.advanceTimersByTimeAsync(10_000)
    for (const {list} of [gone, left, reading]) expect(list).toMatchObject({now: 1, reads: 1})
  })
})
