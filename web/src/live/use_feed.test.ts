import {expect, it, vi} from 'vitest'
import {changedBy} from './use_feed.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

it('asks anew for what a notice changes alone, and for all where notices may be missing', () => {
  for (const type of ['run.started', 'run.completed', 'wait.opened', 'wait.closed']) expect(changedBy(type)).toEqual(['runs', 'counts', 'waits'])
  for (const type of ['workflow.changed', 'workflow.deleted']) expect(changedBy(type)).toEqual(['workflows', 'schedules'])
  for (const type of ['feed.ready', 'poll', 'of another version']) expect(changedBy(type)).toEqual(['runs', 'counts', 'waits', 'workflows', 'schedules'])
})
