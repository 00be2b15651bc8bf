import {describe, expect, it} from 'vitest'
import {formOf} from '../canvas/schema.ts'
import {resolved, type SchemaObject, typesOf, within} from './json_schema.ts'

describe('a reference of a schema', () => {
  const root = {
    $defs: {
      text: {type: 'string', description: 'a text'},
      name: {$ref: '#/$defs/text', title: 'Name'},
      'a/b~c': {type: 'null'},
      never: false,
      loop: {$ref: '#/$defs/loop'},
      toString: {type: 'integer'},
    },
    properties: {id: {type: 'boolean'}},
  }
  it.each<[string, unknown, SchemaObject | boolean]>([
    ['is followed', {$ref: '#/$defs/text'}, root.$defs.text],
    ['is followed further', {$ref: '#/$defs/name'}, {type: 'string', description: 'a text', title: 'Name'}],
    ['may name any place', {$ref: '#/properties/id'}, {type: 'boolean'}],
    ['may name all', {$ref: '#'}, root],
    ['may name a key with signs', {$ref: '#/$defs/a~1b~0c'}, {type: 'null'}],
    ['may name a key that objects inherit', {$ref: '#/$defs/toString'}, {type: 'integer'}],
    [
      'has the keys beside it',
      {$ref: '#/$defs/text', enum: ['a'], description: 'this one'},
      {type: 'string', description: 'this one', enum: ['a']},
    ],
    ['to nothing that may be stays so', {$ref: '#/$defs/never', enum: ['a']}, false],
    ['to what is not there allows all', {$ref: '#/$defs/no'}, true],
    ['to what is not there has the keys beside it', {$ref: '#/$defs/no', enum: ['a']}, {enum: ['a']}],
    ['to what objects inherit is to what is not there', {$ref: '#/properties/constructor/name'}, true],
    ['to another document allows all', {$ref: 'other.json#/$defs/text'}, true],
    ['to itself ends', {$ref: '#/$defs/loop'}, {$ref: '#/$defs/loop'}],
  ])('%s', (_, schema, want) => {
    expect(resolved(schema, root)).toEqual(want)
  })
  it('gives the same object each time', () => {
    const schema = {$ref: '#/$defs/name', enum: ['a']}
    expect(resolved(schema, root)).toBe(resolved(schema, root))
  })
  it('gives a form by the keys beside it, too', () => {
    expect(formOf('mode', {$ref: '#/$defs/text', enum: ['a', 'b']}, root)).toMatchObject({
      kind: 'choice',
      choices: ['a', 'b'],
    })
  })
})

describe('the types of a schema', () => {
  it.each([
    [{}, []],
    [{type: 'string'}, ['string']],
    [{type: ['string', 'null']}, ['string', 'null']],
    [{type: 5}, []],
  ])('%j are %j', (schema, want) => {
    expect(typesOf(schema)).toEqual(want)
  })
})

it('a path leads through what values have themselves', () => {
  expect(within({a: {b: 1}}, 'a', 'b')).toBe(1)
  expect(within({a: {b: 1}}, 'a', 'toString')).toBeUndefined()
  expect(within({a: [1]}, 'a', '0')).toBeUndefined()
})
