import * as fc from 'fast-check'
import {describe, expect, it, vi} from 'vitest'
import {DocumentModel, smallest, type Update} from './model.ts'

const made = (text: string, layout = {}) => {
  const model = new DocumentModel(text, layout)
  const told: Update[] = []
  model.subscribe(u => told.push(u))
  return {model, told}
}

describe('a document model', () => {
  it.each(['', 'a\nb', 'a\r\nb\r\n', 'a\rb\n\r\n\r', '\ufeff{"a": "👩\u{1f3fd}"}\n\n', '\ud800x'])(
    'keeps %j as it is',
    text => {
      const {model} = made(text)
      expect(model.text).toBe(text)
      expect(model.state.doc.length).toBe(text.length)
    },
  )
  it('changes several parts in one step', () => {
    const {model, told} = made('one two three')
    model.change(
      [
        {from: 0, to: 3, insert: '1'},
        {from: 8, to: 13, insert: '3'},
      ],
      'count',
    )
    expect(model.text).toBe('1 two 3')
    expect(told.map(u => [u.label, u.how, u.text, u.layout])).toEqual([['count', 'do', true, false]])
    expect(model.undo()).toBe(true)
    expect(model.text).toBe('one two three')
    expect(model.redo()).toBe(true)
    expect(model.text).toBe('1 two 3')
    expect(told.slice(1).map(u => [u.label, u.how])).toEqual([
      ['count', 'undo'],
      ['count', 'redo'],
    ])
  })
  it('undoes layout and text in the order in which they were changed', () => {
    const {model, told} = made('a', {n: {x: 0, y: 0}})
    model.edit({layout: {n: {x: 5, y: 0}}}, 'move')
    model.change([{from: 1, to: 1, insert: 'b'}], 'add b')
    model.edit({changes: [{from: 0, to: 1, insert: ''}], layout: {}}, 'delete n')
    expect([model.text, model.layout]).toEqual(['b', {}])
    model.undo()
    expect([model.text, model.layout]).toEqual(['ab', {n: {x: 5, y: 0}}])
    model.undo()
    expect([model.text, model.layout]).toEqual(['a', {n: {x: 5, y: 0}}])
    model.undo()
    expect([model.text, model.layout]).toEqual(['a', {n: {x: 0, y: 0}}])
    expect(model.undo()).toBe(false)
    expect(model.canRedo).toBe(true)
    model.redo()
    model.redo()
    model.redo()
    expect([model.text, model.layout]).toEqual(['b', {}])
    expect(told.map(u => u.label)).toEqual([
      'move',
      'add b',
      'delete n',
      'delete n',
      'add b',
      'move',
      'move',
      'add b',
      'delete n',
    ])
  })
  it('makes no step of what changes nothing', () => {
    const {model, told} = made('abc', {n: {x: 1, y: 2}})
    model.change([{from: 0, to: 1, insert: 'a'}], 'same')
    model.edit({layout: {n: {x: 1, y: 2}}}, 'move')
    model.setText('abc', 'same')
    expect(told).toEqual([])
    expect(model.canUndo).toBe(false)
  })
  it('refuses a change outside the text and keeps the text', () => {
    const {model, told} = made('abc')
    expect(() => model.change([{from: 2, to: 9, insert: ''}], 'too far')).toThrow(RangeError)
    expect(model.text).toBe('abc')
    expect(told).toEqual([])
  })
  it('joins edits of one group, and no others', () => {
    vi.useFakeTimers()
    try {
      const {model} = made('')
      const type = (c: string, group: string) =>
        model.edit({changes: [{from: model.text.length, to: model.text.length, insert: c}], group}, 'title')
      type('a', 'title')
      type('b', 'title')
      type('c', 'prompt')
      model.change([{from: 3, to: 3, insert: 'd'}], 'own step')
      expect(model.text).toBe('abcd')
      model.undo()
      expect(model.text).toBe('abc')
      model.undo()
      expect(model.text).toBe('ab')
      model.undo()
      expect(model.text).toBe('')
    } finally {
      vi.useRealTimers()
    }
  })
  it('lets a view follow, and takes changes of the view', () => {
    const {model, told} = made('a')
    const seen: number[] = []
    const {detach} = model.attach([], state => {
      expect(state.doc.toString()).toBe('a')
      return {update: trs => void seen.push(trs.length)}
    })
    model.apply([model.state.update({changes: {from: 1, insert: 'b'}, userEvent: 'input.type'})])
    expect(model.text).toBe('ab')
    expect(told.map(u => u.label)).toEqual(['typing'])
    detach()
    model.change([{from: 0, to: 0, insert: 'x'}], 'more')
    expect(seen).toEqual([1])
    model.undo()
    model.undo()
    expect(model.text).toBe('a')
  })
  it('refuses a transaction of an older state', () => {
    const {model} = made('a')
    const late = model.state.update({changes: {from: 0, insert: 'late'}})
    model.change([{from: 0, to: 0, insert: 'x'}], 'first')
    expect(() => model.apply([late])).toThrow(/no longer/)
    expect(model.text).toBe('xa')
  })
  it('gives the bytes back after any edits are undone', () => {
    const edit = fc.record({
      at: fc.nat(),
      cut: fc.nat(5),
      insert: fc.string({unit: 'binary', maxLength: 6}),
      x: fc.option(fc.nat(9)),
    })
    fc.assert(
      fc.property(fc.string({unit: 'binary'}), fc.array(edit, {maxLength: 20}), (text, edits) => {
        const {model} = made(text)
        const after: string[] = []
        for (const e of edits) {
          const from = model.text.length === 0 ? 0 : e.at % model.text.length
          const to = Math.min(from + e.cut, model.text.length)
          const want = model.text.slice(0, from) + e.insert + model.text.slice(to)
          model.edit(
            {changes: [{from, to, insert: e.insert}], ...(e.x === null ? {} : {layout: {n: {x: e.x, y: 0}}})},
            'edit',
          )
          expect(model.text).toBe(want)
          after.push(want)
        }
        while (model.undo());
        expect(model.text).toBe(text)
        expect(model.layout).toEqual({})
        while (model.redo());
        expect(model.text).toBe(after.at(-1) ?? text)
      }),
    )
  })
})

describe('the smallest change', () => {
  it.each([
    ['abc', 'abc', null],
    ['abc', 'aXc', {from: 1, to: 2, insert: 'X'}],
    ['aa', 'aaa', {from: 2, to: 2, insert: 'a'}],
    ['👩', '👨', {from: 0, to: 2, insert: '👨'}],
    ['', 'x', {from: 0, to: 0, insert: 'x'}],
  ])('of %j to %j', (was, now, want) => expect(smallest(was, now)).toEqual(want))
  it('makes one text of the other', () => {
    fc.assert(
      fc.property(fc.string({unit: 'binary'}), fc.string({unit: 'binary'}), (was, now) => {
        const c = smallest(was, now)
        expect(c === null ? was : was.slice(0, c.from) + c.insert + was.slice(c.to)).toBe(now)
      }),
    )
  })

  it('joins moves of one group, and takes them back at once', () => {
    const m = new DocumentModel('{}', {a: {x: 1, y: 1}})
    const told: string[] = []
    m.subscribe(u => told.push(`${u.how} ${u.label}`))
    for (let x = 2; x < 12; x++) m.edit({layout: {a: {x, y: 1}}, group: 'nudge'}, 'move a')
    expect(told).toEqual(Array.from({length: 10}, () => 'do move a'))
    expect(m.layout?.a?.x).toBe(11)
    m.undo()
    expect(m.layout?.a?.x).toBe(1)
    expect(m.canUndo).toBe(false)
    m.redo()
    expect(m.layout?.a?.x).toBe(11)
  })

  it('joins no moves with a change of the text between them, nor of another group', () => {
    const m = new DocumentModel('{}', {a: {x: 1, y: 1}})
    m.edit({layout: {a: {x: 2, y: 1}}, group: 'nudge'}, 'move a')
    m.change([{from: 1, to: 1, insert: ' '}], 'type')
    m.edit({layout: {a: {x: 3, y: 1}}, group: 'nudge'}, 'move a')
    m.edit({layout: {a: {x: 4, y: 1}}, group: 'other'}, 'move a')
    for (const x of [3, 2, 2, 1]) {
      m.undo()
      expect(m.layout?.a?.x).toBe(x)
    }
    expect(m.text).toBe('{}')
  })
})
