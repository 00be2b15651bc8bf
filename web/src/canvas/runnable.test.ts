import {describe, expect, it} from 'vitest'
import {readCanvas} from './document.ts'
import {type Problem, troublesOf} from './problem.ts'
import {whyNot} from './runnable.ts'

const problem = (path: string, more: Partial<Problem> = {}): Problem => ({
  code: 'c',
  severity: 'error',
  message: 'no model',
  hint: '',
  path,
  at: null,
  ...more,
})

// S0-52: the editor refuses to run a document that the server would refuse.
describe('a test run', () => {
  const can = {role: true, checked: true, failed: false, problems: [problem('', {severity: 'warning'})], running: false}
  it.each([
    ['can begin with warnings', can, ''],
    ['needs a role', {...can, role: false}, 'Your role may not run documents that are not stored.'],
    ['waits for the check', {...can, checked: false}, 'The document is being checked.'],
    ['needs the server', {...can, failed: true}, 'The server did not answer whether the document is right.'],
    ['needs a document without an error', {...can, problems: [problem('')]}, 'It cannot run: no model'],
    [
      'names the first of several errors',
      {...can, problems: [problem(''), problem('')]},
      'It cannot run: 2 errors, the first is: no model',
    ],
    ['is one at a time', {...can, running: true}, 'The test run before has not ended.'],
  ])('%s', (_, facts, want) => expect(whyNot(facts)).toBe(want))
})

it('problems are at their nodes', () => {
  const c = readCanvas(
    '{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "b"}], "connections": [{"source": "b", "target": "a"}]}',
  )
  if ('why' in c) throw new Error(c.why)
  const got = troublesOf(
    c,
    ['nodes[0].data["x y"]', 'nodes[2]', 'connections[0].target', 'inputs.a', 'nodes[9]', ''].map(p => problem(p)),
  )
  expect([...got].map(([key, list]) => [key, list.map(p => p.path)])).toEqual([
    ['a', ['nodes[0].data["x y"]']],
    ['#2', ['nodes[2]']],
    ['b', ['connections[0].target']],
    ['', ['inputs.a', 'nodes[9]', '']],
  ])
})
