import {describe, expect, it} from 'vitest'
import {changesOf, problemsOf} from './schema_check.ts'

const pay = {
  type: 'object',
  required: ['sum', 'to'],
  additionalProperties: false,
  properties: {
    sum: {type: 'integer', maximum: 9},
    to: {type: 'string', minLength: 1},
    tags: {type: 'array', items: {enum: ['a', 'b']}, maxItems: 2},
  },
}
const words = (v: unknown) => problemsOf(pay, v).map(p => `${p.pointer} ${p.message}`)

describe('what a schema refuses', () => {
  it('is said by pointer', () => {
    expect(words({sum: 10, to: 7, x: 1})).toEqual([
      '/sum must be at most 9',
      '/to must be string, not number',
      '/x is not a parameter',
    ])
    expect(words({sum: 1.5})).toEqual(['/to is missing', '/sum must be integer, not number'])
    expect(words([1])).toEqual([' must be object, not array'])
    expect(words({sum: 1, to: '', tags: ['a', 'c', 'b']})).toEqual([
      '/to must have at least 1 characters',
      '/tags must have at most 2 items',
      '/tags/1 must be one of "a", "b"',
    ])
  })
  it('is nothing where the value fits', () => expect(words({sum: 9, to: 'Ann', tags: ['b']})).toEqual([]))
  it('takes names of anyone', () => {
    expect(
      problemsOf({properties: {'a/b~': {type: 'null'}}}, JSON.parse('{"a/b~": 1, "__proto__": 2, "constructor": 3}')),
    ).toEqual([{pointer: '/a~1b~0', message: 'must be null, not number'}])
  })
  it('has a bound', () => {
    let deep: unknown = 1
    let schema: unknown = {type: 'string'}
    for (let i = 0; i < 5000; i++) {
      deep = [deep]
      schema = {items: schema}
    }
    expect(problemsOf(schema, deep)).toEqual([])
    expect(problemsOf({items: {type: 'string'}}, Array(1000).fill(1))).toHaveLength(20)
  })
})

describe('changes', () => {
  it('are named by pointer', () => {
    expect(changesOf({a: 1, b: {c: [1], d: 2}, e: 3}, {a: 1, b: {c: [2], d: 2}, f: 3})).toEqual(['/b/c', '/e', '/f'])
    expect(changesOf([1], [2])).toEqual(['/'])
    expect(changesOf({a: 1}, {a: 1})).toEqual([])
  })
})
