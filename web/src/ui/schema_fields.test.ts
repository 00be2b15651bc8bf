import {expect, it} from 'vitest'
import {fieldsOf, initialOf, typedOf, valueOf} from './schema_fields.ts'

const schema = {
  type: 'object',
  required: ['count', 'name'],
  properties: {
    count: {type: 'integer', minimum: 1},
    name: {type: 'string', title: 'Your name'},
    gift: {type: 'boolean', default: true},
    size: {enum: ['s', 'm', 3]},
    extra: {type: 'array'},
  },
}

it('gives a field for each property', () => {
  expect(fieldsOf(schema).map(f => `${f.title} ${f.kind} ${f.required}`)).toEqual([
    'count integer true',
    'Your name text true',
    'gift boolean false',
    'size choice false',
    'extra json false',
  ])
})

it('gives values of the types of the schema', () => {
  const fields = fieldsOf(schema)
  expect(initialOf(fields)).toEqual({count: '', name: '', gift: true, size: '', extra: ''})
  expect(valueOf(fields, {count: '3', name: '', gift: false, size: '3', extra: '[1]'})).toEqual({
    count: 3,
    name: '',
    size: 3,
    extra: [1],
  })
  expect(() => valueOf(fields, {extra: '['})).toThrow('extra is not JSON')
})

it('has no fields for a schema without properties', () => expect(fieldsOf(true)).toEqual([]))

it('keeps keys that every object inherits', () => {
  const fields = fieldsOf(
    JSON.parse('{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}}}'),
  )
  const typed = typedOf(fields, JSON.parse('{"__proto__": "a"}'))
  expect(JSON.stringify(typed)).toBe('{"__proto__":"a","constructor":""}')
  expect(JSON.stringify(valueOf(fields, typed!))).toBe('{"__proto__":"a"}')
})
