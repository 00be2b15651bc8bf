import {describe, expect, it} from 'vitest'
import {type Message, parser} from '../api/sse.ts'
import {duration, usd} from './format.ts'
import {clean, pieces} from './hostile.ts'
import {asText, brief, kindOf, pretty} from './json.ts'

describe('hostile texts', () => {
  it('show characters that turn or hide text by their numbers', () => {
    expect(pieces('a\u202egnp.exe')).toEqual([
      {text: 'a', odd: false},
      {text: 'U+202E', odd: true},
      {text: 'gnp.exe', odd: false},
    ])
    expect(clean('x\u200by\u0007')).toBe('x‹U+200B›y‹U+0007›')
  })
  it('keep tabs, line ends and all else that is seen', () => {
    const text = '\tgrüße\n日本語 👩\u{1f3fd} <script>alert(1)</script>'
    expect(pieces(text)).toEqual([{text, odd: false}])
    expect(pieces('a\r\nb')).toEqual([{text: 'a\nb', odd: false}])
  })
  it('may be JSON of any depth', () => {
    let deep: unknown = 1
    for (let i = 0; i < 10_000; i++) deep = [deep]
    expect(pretty(deep)).toContain('[…]')
  })
})

describe('streams', () => {
  const read = (parts: string[]): Message[] => {
    const got: Message[] = []
    const feed = parser(m => got.push(m))
    for (const p of parts) feed(p)
    return got
  }
  const text = 'retry: 10\n\n: hello\nid: 7\nevent: step.started\ndata: {"a":\ndata: 1}\n\nid: 8\r\ndata:x\r\n\r\n'
  const want = [
    {id: '7', event: 'step.started', data: '{"a":\n1}'},
    {id: '8', event: 'message', data: 'x'},
  ]
  it('are read', () => expect(read([text])).toEqual(want))
  it('are the same in any pieces', () => {
    for (let i = 0; i <= text.length; i++) expect(read([text.slice(0, i), text.slice(i)])).toEqual(want)
    expect(read([...text])).toEqual(want)
  })
  it('give nothing of a message that is cut off', () => expect(read(['id: 1\ndata: x\n'])).toEqual([]))
})

describe('numbers', () => {
  it.each([
    [null, ''],
    [0, '0 ms'],
    [999, '999 ms'],
    [1500, '1.5 s'],
    [61_000, '1 min 1 s'],
    [7_260_000, '2 h 1 min'],
    [200 * 3_600_000, '8 d 8 h'],
  ] as const)('%s ms is %s', (ms, text) => expect(duration(ms)).toBe(text))
  it.each([
    [null, 'cost unknown'],
    [0, '$0'],
    [0.00001, '< $0.0001'],
    [0.0042, '$0.0042'],
    [12.345, '$12.35'],
  ] as const)('%s is %s', (n, text) => expect(usd(n)).toBe(text))
})

describe('values', () => {
  const left = {$value: {bytes: 40_000, sha256: 'a74675bfed3834ac1c31', head: '[0,1,2', href: '/x'}}
  it('that the server left out are shown by their beginning', () => {
    expect(asText(left)).toBe('[0,1,2… (40000 bytes, a74675bfed38)')
    expect(brief(left)).toBe('[0,1,2')
    expect([brief(null), brief({a: 1}), brief('x'.repeat(400)).length]).toEqual(['', '{"a":1}', 300])
  })
})

describe('the reference of a long value', () => {
  it.each([
    ['/api/v1/runs/r/values/83c2', 'text'],
    ['/api/v1/runs/r/values/83c2?type=json', 'json'],
  ])('%s says that it is %s', (href, kind) => expect(kindOf({bytes: 1, sha256: '83c2', head: '{', href})).toBe(kind))
})
