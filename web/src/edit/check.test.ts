import {forEachDiagnostic} from '@codemirror/lint'
import {EditorState} from '@codemirror/state'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import {ApiError} from '../api/client.ts'
import {type Check, type Checking, checker} from './check.ts'
import {languageOf} from './languages.ts'
import {endsOf, lineEnds} from './line_ends.ts'
import {marksOf} from './marks.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null, documentElement: {style: {}}})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

const made = (text: string): Check => ({
  text,
  branch: '',
  ok: true,
  format: 'steps',
  problems: [],
  drawing: null,
  branches: [],
  inputs: null,
})

describe('a checker', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    return () => vi.useRealTimers()
  })
  const started = () => {
    const asked: {text: string; signal: AbortSignal; answer: (c: Check) => void; fail: (e: Error) => void}[] = []
    const got: Checking[] = []
    const c = checker(
      (text, signal) => new Promise((answer, fail) => asked.push({text, signal, answer, fail})),
      g => got.push(g),
      100,
    )
    return {c, asked, got}
  }
  it('asks once for several changes', async () => {
    const {c, asked, got} = started()
    c.check('a')
    c.check('ab')
    vi.advanceTimersByTime(99)
    expect(asked).toEqual([])
    vi.advanceTimersByTime(1)
    expect(asked.map(a => a.text)).toEqual(['ab'])
    asked[0]!.answer(made('ab'))
    await vi.runAllTimersAsync()
    expect(got.at(-1)).toEqual({check: made('ab'), error: null, busy: false})
  })
  it('drops answers about older texts, in any order', async () => {
    const {c, asked, got} = started()
    c.check('a', true)
    c.check('ab', true)
    expect(asked[0]!.signal.aborted).toBe(true)
    asked[1]!.answer(made('ab'))
    asked[0]!.answer(made('a'))
    await vi.runAllTimersAsync()
    expect(got.at(-1)!.check?.text).toBe('ab')
    c.check('abc', true)
    c.check('abcd', true)
    asked[2]!.fail(new Error('aborted'))
    await vi.runAllTimersAsync()
    expect(got.at(-1)).toMatchObject({busy: true, error: null})
  })
  it('keeps the last answer where one fails', async () => {
    const {c, asked, got} = started()
    c.check('a', true)
    asked[0]!.answer(made('a'))
    await vi.runAllTimersAsync()
    c.check('ab', true)
    asked[1]!.fail(new Error('away'))
    await vi.runAllTimersAsync()
    expect(got.at(-1)).toEqual({check: made('a'), error: new Error('away'), busy: false})
    c.check('a')
    expect(got.at(-1)).toEqual({check: made('a'), error: null, busy: false})
  })
})

describe('a checker whose server does not answer', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    return () => vi.useRealTimers()
  })
  const failing = (err: Error) => {
    let asked = 0
    const got: Checking[] = []
    const answers: (Check | null)[] = []
    const c = checker(
      async text => {
        asked++
        if (answers.shift() === undefined) throw err
        return made(text)
      },
      g => got.push(g),
      100,
    )
    return {c, got, answers, asked: () => asked}
  }
  it('asks again after longer and longer pauses, until it answers', async () => {
    const {c, got, answers, asked} = failing(new Error('away'))
    c.check('a', true)
    await vi.advanceTimersByTimeAsync(0)
    expect(got.at(-1)).toMatchObject({error: new Error('away')})
    const later = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms)
      return asked()
    }
    expect([await later(999), await later(1), await later(1999), await later(1), await later(3999)]).toEqual([
      1, 2, 2, 3, 3,
    ])
    answers.push(made('a'))
    await vi.advanceTimersByTimeAsync(1)
    expect(got.at(-1)).toEqual({check: made('a'), error: null, busy: false})
    expect(await later(600_000)).toBe(4)
  })
  it('does not ask again for what it refuses, nor when it is stopped', async () => {
    const refused = failing(new ApiError({title: 'Too large', status: 413} as never, ''))
    refused.c.check('a', true)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(refused.asked()).toBe(1)
    const {c, asked} = failing(new Error('away'))
    c.check('a', true)
    await vi.advanceTimersByTimeAsync(0)
    c.stop()
    await vi.advanceTimersByTimeAsync(600_000)
    expect(asked()).toBe(1)
  })
  it('asks at once where a person wants it', async () => {
    const {c, got, answers, asked} = failing(new Error('away'))
    c.check('a', true)
    await vi.advanceTimersByTimeAsync(0)
    answers.push(made('a'))
    c.again()
    await vi.advanceTimersByTimeAsync(0)
    expect([asked(), got.at(-1)?.check?.text]).toEqual([2, 'a'])
  })
})

describe('marks', () => {
  const at = (from: number, to: number) => ({from, to, line: 1})
  it('are where the problems are, and inside the text', () => {
    const state = EditorState.create({doc: 'ä👩b'})
    const base = {
      code: 'bad-step',
      severity: 'error',
      message: 'it is bad',
      hint: '',
      path: '',
      file: '',
      node: '',
      branch: '',
    } as const
    const check: Check = {
      ...made('ä👩b'),
      ok: false,
      problems: [
        {...base, at: at(1, 3)},
        {...base, hint: 'mend it', severity: 'warning', at: at(3, 99)},
        {...base, at: null},
      ],
    }
    const spec = marksOf(state, 'ä👩b', check)!
    const found: string[] = []
    forEachDiagnostic(state.update(spec).state, (d, from, to) => found.push(`${d.severity} ${from}-${to} ${d.message}`))
    expect(found).toEqual(['error 1-3 it is bad', 'warning 3-4 it is bad\nmend it'])
    expect(marksOf(state, 'another text', check)).toBeNull()
  })
})

describe('texts', () => {
  it.each([
    ['{"a": 1}', 'json'],
    ['\ufeff \n[1]', 'json'],
    ['workflow:\n  - {id: a}', 'yaml'],
    ['', 'yaml'],
  ] as const)('%j is %s', (text, language) => expect(languageOf(text)).toBe(language))
  const typed = (doc: string, at: number, insert: string, userEvent = 'input.type') =>
    EditorState.create({doc, extensions: [EditorState.lineSeparator.of('\n'), lineEnds]})
      .update({changes: {from: at, insert}, userEvent})
      .state.doc.toString()
  it('get line ends as they have', () => {
    expect(typed('a\r\nb', 4, '\nc\r\nd\n')).toBe('a\r\nb\r\nc\r\nd\r\n')
    expect(typed('a\nb', 3, '\n')).toBe('a\nb\n')
    expect(typed('a\r\nb', 4, '\n', 'undo')).toBe('a\r\nb\n')
    expect(endsOf(EditorState.create({doc: ''}).doc)).toBe('\n')
  })
})
