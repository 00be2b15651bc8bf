import {describe, expect, it, vi} from 'vitest'
import {grown, inTurn, pacer} from './log_pages.ts'

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
  // pages of three, whose cursor is the place.
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
