import {X} from 'lucide-react'
import {type ReactNode, useMemo, useRef} from 'react'
import type {Path} from '../doc/tree.ts'
import {isRecord} from '../lib/record.ts'
import {Button, IconButton} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {AgentOfNode} from './AgentForm.tsx'
import type {Catalog} from './agents.ts'
import {type Bound, bound} from './bound.ts'
import {begin} from './branches.ts'
import {type CanvasEdge, type CanvasNode, dataOf, handlesOf} from './document.ts'
import {Scopes} from './Expression.tsx'
import {FormField, NameInput, Raw} from './Forms.tsx'
import styles from './Inspector.module.css'
import {Links} from './Links.tsx'
import {rename, setField} from './operations.ts'
import type {Problem} from './problem.ts'
import {beginning} from './rules_rounds.ts'
import {Conditions, Tools} from './Special.tsx'
import {type Field, nameFields, nodeFields, type Sorted, sorted} from './schema.ts'
import type {Editing} from './use_editing.ts'
import {kindWords} from './words.ts'

type Props = {
  editing: Editing
  node: CanvasNode
  schema: unknown
  catalog: Catalog
  problems: readonly Problem[]
  openText: (range: {from: number; to: number}) => void
  openEdge: (e: CanvasEdge) => void
  close: () => void
  connect: () => void
  last?: ReactNode
}

// useSorted fixes the order of a form's fields when it is opened: a field that is emptied or filled
// stays in its position and keeps the focus.
export function useSorted(form: string, fields: Field[], data: Readonly<Record<string, unknown>>): Sorted {
  const opened = useRef<(Sorted & {fields: Field[]}) | null>(null)
  if (opened.current?.fields !== fields) opened.current = {fields, ...sorted(form, fields, data)}
  return opened.current
}

// useOthers returns the keys of an object that its form does not know, in document order; removed
// keys stay while the form is open.
export function useOthers(
  fields: readonly Field[],
  data: Readonly<Record<string, unknown>>,
  drawn: readonly string[] = [],
): string[] {
  const all = useRef(new Set<string>())
  for (const k of Object.keys(data)) all.current.add(k)
  const known = new Set([...fields.flatMap(f => f.names), ...drawn])
  return [...all.current].filter(k => !known.has(k))
}

// Inspector shows one node: a form for each key that its kind has, its other keys in the document,
// its edges and its problems.
export function Inspector({editing, node, schema, catalog, problems, openText, openEdge, close, connect, last}: Props) {
  const {c, act, readOnly, places, full} = editing
  const {word, icon: Icon} = kindWords(node.kind)
  const rounds = c.shape.format === 'rounds'
  const fields = useMemo(() => (node.kind ? nodeFields(schema, node.kind) : []), [schema, node.kind])
  const names = useMemo(() => nameFields(schema), [schema])
  const {shown, more} = useSorted(node.kind ?? '', fields, node.data)
  const asked = rounds && node.kind === 'agent'
  const rest = useOthers(fields, node.data, asked ? ['agentId'] : [])
  const data = bound(editing, dataOf(c, node), `node ${c.shape.graph.join(' ')} ${node.id}`)
  // A node without data gets an object as soon as a value is set in it.
  const set = (path: Path, v: unknown) =>
    act(setField(c, node.index, path, v), {group: `${node.index} ${path.join(' ')}`})
  const field = (f: Field) => {
    if (node.kind === 'if' && f.key === 'conditions') return <Conditions key={f.key} editing={editing} node={node} />
    if (node.kind === 'agent' && f.key === 'tools')
      return (
        <Tools
          key={f.key}
          held={data.child('tools')}
          set={v => set(['tools'], v)}
          setOne={(name, on) => set(['tools', name], on)}
          readOnly={readOnly}
        />
      )
    return <FormField key={f.key} field={f} bound={data} root={schema} />
  }
  const scope = useMemo(() => ({c, node, schema}), [c, node, schema])
  const at = places.get(node.id)
  const self: Bound = bound(editing, [...c.shape.nodes, node.index], `names ${c.shape.graph.join(' ')} ${node.id}`)
  return (
    <section className={styles.inspector} data-inspector aria-label={`${word} ${node.name}`}>
      <FormHead icon={<Icon size={16} aria-hidden="true" />} title={node.name || node.id} close={close} />
      <div className={styles.body}>
        {problems.length > 0 && <Troubles list={problems} openText={openText} />}
        {last}
        <NameInput
          label={`${word} id`}
          name={node.id}
          readOnly={readOnly}
          rename={id => act(rename(c, full, node.index, id))}
        />
        {rounds && names.map(f => <FormField key={f.key} field={f} bound={self} root={schema} />)}
        {asked && <AgentOfNode editing={editing} node={node} schema={schema} catalog={catalog} />}
        <Scopes value={scope}>
          {shown.map(field)}
          {more.length > 0 && (
            <details className={styles.more}>
              <summary>{more.length} more</summary>
              {more.map(field)}
            </details>
          )}
        </Scopes>
        {rest.map(k => (
          <Raw key={k} name={k} bound={data.child(k)} />
        ))}
        {rounds && node.index > 0 && beginning(c) !== node.id && !readOnly && (
          <Button onClick={() => act(begin(c, node.index))}>Let runs begin with it</Button>
        )}
        <h3>Connections</h3>
        <Links editing={editing} node={node} open={openEdge} />
        {!readOnly && handlesOf(node).length > 0 && <Button onClick={connect}>Connect…</Button>}
        <p className={styles.quiet}>
          {at ? `At ${Math.round(at.x)}, ${Math.round(at.y)}. ` : ''}
          <button type="button" className={styles.jump} onClick={() => openText(node.range)}>
            Show in the text
          </button>
        </p>
      </div>
    </section>
  )
}

// FormHead is the heading of a form.
export function FormHead({icon, title, close}: {icon?: ReactNode; title: string; close: () => void}) {
  return (
    <header className={styles.head}>
      {icon}
      <h2>
        <Line>{title}</Line>
      </h2>
      <IconButton label="Close" onClick={close}>
        <X size={16} />
      </IconButton>
    </header>
  )
}

export function Troubles({
  list,
  openText,
}: {
  list: readonly Problem[]
  openText: (range: {from: number; to: number}) => void
}) {
  return (
    <ul className={styles.troubles}>
      {list.map((p, i) => (
        <li key={i} data-severity={p.severity}>
          <Text>{p.message}</Text>
          {p.hint && (
            <small>
              <Text>{p.hint}</Text>
            </small>
          )}
          {p.at && (
            <button type="button" className={styles.jump} onClick={() => p.at && openText(p.at)}>
              Show in the text
            </button>
          )}
        </li>
      ))}
    </ul>
  )
}

export const recordOf = (v: unknown): Readonly<Record<string, unknown>> => (isRecord(v) ? v : {})
