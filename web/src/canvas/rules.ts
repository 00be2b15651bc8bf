import {own} from '../lib/own.ts'
import {conditionWord} from '../lib/ports.ts'
import {isRecord} from '../lib/record.ts'
import {type Canvas, handlesOf, output, parentOf, subagent} from './document.ts'
import {roundsRefusal, roundsRules} from './rules_rounds.ts'

// Link is an edge to be drawn; handle is one of the source's outputs.
export type Link = {from: string; handle: string; to: string; target?: string}

// Refusal describes why an edit is not made. rule is the number of the rule, and fix is the change
// that makes the edit possible: the permission to ask sub-agents, a number of rounds, or
// reconnecting another edge.
export type Refusal = {rule: string; reason: string; fix?: 'subagents' | 'rounds' | 'instead'}

// refusal returns why a link is not allowed, or null if it is. Links to sub-agents follow the seven
// rules of S0-50 with the messages of S0-51; without is the index of an edge that the link
// replaces.
export function refusal(all: Canvas, link: Link, without = -1): Refusal | null {
  if (all.shape.format === 'rounds') return roundsRefusal(all, link, without)
  const c = without < 0 ? all : {...all, edges: all.edges.filter(e => e.index !== without)}
  if (link.handle === subagent) return subagentRefusal(c, link)
  const from = c.byID.get(link.from)
  if (!from) return {rule: 'S0-6', reason: `Connection source "${link.from}" not found`}
  if (!c.byID.has(link.to)) return {rule: 'S0-6', reason: `Connection target "${link.to}" not found`}
  const handles = handlesOf(from).filter(h => h !== subagent)
  if (!handles.includes(link.handle)) {
    const rule = from.kind === 'if' ? 'S0-22' : from.kind === 'approval' ? 'S0-32' : 'X-130'
    const word = (h: string) => handleWord(h, Array.isArray(from.data.conditions) ? from.data.conditions : [])
    const reason =
      `A connection from "${from.id}" by the handle "${word(link.handle)}" is never followed; ` +
      `the handles are ${handles.map(word).join(', ')}.`
    return {rule, reason}
  }
  if (c.edges.some(e => !e.sub && e.from === link.from && e.port === link.handle && e.to === link.to))
    return {
      rule: 'S0-40',
      reason:
        `"${link.from}" and "${link.to}" are connected already: ` +
        `a second connection would start "${link.to}" twice.`,
    }
  for (const id of [link.from, link.to])
    if (parentOf(c, id) !== null)
      return {
        rule: 'S0-50',
        reason: `Agent "${id}" is configured as subagent and cannot participate in workflow execution edges.`,
      }
  return null
}

function subagentRefusal(c: Canvas, link: Link): Refusal | null {
  const [from, to] = [c.byID.get(link.from), c.byID.get(link.to)]
  const no = (reason: string, fix?: 'subagents'): Refusal => ({rule: 'S0-50', reason, ...(fix ? {fix} : {})})
  if (from?.kind !== 'agent') return no(`Subagent source "${link.from}" must be an agent node.`)
  if (to?.kind !== 'agent') return no(`Subagent target "${link.to}" must be an agent node.`)
  if (link.target && link.target !== 'input')
    return no(`Subagent link "${link.from}" -> "${link.to}" must connect to input handle.`)
  if (link.from === link.to) return no(`Agent "${link.from}" cannot be a subagent of itself.`)
  const parent = parentOf(c, link.to)
  if (parent === link.from) return no(`The subagent link "${link.from}" -> "${link.to}" is there already.`)
  if (parent !== null) return no(`Agent "${link.to}" cannot belong to more than one parent subagent.`)
  const ring = ringOf(c, link)
  if (ring) return no(`Subagent cycle detected: ${ring.join(' -> ')}`)
  if (c.edges.some(e => !e.sub && (e.from === link.to || e.to === link.to)))
    return no(`Agent "${link.to}" is configured as subagent and cannot participate in workflow execution edges.`)
  if (!from.mayAsk) return no(`Agent "${link.from}" uses subagent links but Subagents tool is disabled.`, 'subagents')
  return null
}

// ringOf returns the cycle of sub-agents that a link would close, starting with its first node in
// the document.
function ringOf(c: Canvas, link: Link): string[] | null {
  const up = [link.from]
  for (let at = parentOf(c, link.from); at !== null && !up.includes(at); at = parentOf(c, at)) up.push(at)
  if (!up.includes(link.to)) return null
  const ring = up.slice(0, up.indexOf(link.to) + 1).reverse()
  const first = ring.reduce((best, id, i) => (c.byID.get(id)!.index < c.byID.get(ring[best]!)!.index ? i : best), 0)
  const turned = [...ring.slice(first), ...ring.slice(0, first)]
  return [...turned, turned[0]!]
}

// targetsOf returns the nodes that a handle of a node can be connected to, and the refusals for the
// others.
export function targetsOf(c: Canvas, from: string, handle: string): {id: string; refused: Refusal | null}[] {
  const refused =
    c.shape.format === 'rounds' ? roundsRules(c, from, handle, -1) : (to: string) => refusal(c, {from, handle, to})
  return [...c.byID.keys()].map(id => ({id, refused: refused(id)}))
}

// operators are the operators of conditions, with their names for people.
export const operators = {
  equal: 'equals',
  contains: 'contains',
  less: 'is less than',
  less_or_equal: 'is at most',
  greater: 'is greater than',
  greater_or_equal: 'is at least',
}

// handleWord returns the name of a handle for people.
export function handleWord(handle: string, conditions: readonly unknown[] = []): string {
  if (handle === output) return 'next'
  if (handle === subagent) return 'sub-agent'
  if (handle === 'false') return 'no match'
  const word = conditionWord(handle)
  if (word === undefined) return handle
  const c = conditions[Number(handle.slice('condition-'.length))]
  if (!isRecord(c)) return word
  if (typeof c.if === 'string' && c.if) return c.if
  const value = c.value === undefined || c.value === null || c.value === '' ? '' : String(c.value)
  return value ? `${own(operators, String(c.operator)) ?? operators.equal} ${value}` : word
}
