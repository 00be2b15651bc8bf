import {ArrowDown, ArrowUp, Trash2, X} from 'lucide-react'
import {type ReactNode, useEffect, useId, useMemo, useRef, useState} from 'react'
import {laidOut} from '../doc/merge.ts'
import {find, type Path, TextError} from '../doc/tree.ts'
import {isRecord} from '../lib/record.ts'
import control from '../ui/control.module.css'
import {Button, IconButton} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {type CanvasNode, handlesOf} from './document.ts'
import {draftsOf} from './drafts.ts'
import {FieldInput, type Held, JSONInput, labelOf} from './Fields.tsx'
import styles from './Inspector.module.css'
import {moveCondition, reconnect, remove, removeCondition, rename, setField} from './operations.ts'
import type {Problem} from './problem.ts'
import {handleWord} from './rules.ts'
import {type Field, nodeFields, sorted} from './schema.ts'
import type {Editing} from './use_editing.ts'
import {kindWords} from './words.ts'

type Props = {
  editing: Editing
  node: CanvasNode
  schema: unknown
  problems: readonly Problem[]
  openText: (range: {from: number; to: number}) => void
  close: () => void
  connect: () => void
  last?: ReactNode
}

// textOf gives how the document writes a value of a node; '' where it is not there.
function textOf({c}: Editing, node: CanvasNode, path: Path): string {
  try {
    const n = find(c.root, [...c.shape.nodes, node.index, c.shape.data, ...path])
    return n ? laidOut(c.text, n) : ''
  } catch (err) {
    if (err instanceof TextError) return '' // the key is there twice
    throw err
  }
}

// Inspector shows one node: a form for each key that its kind has, what else the document says of it, its edges and its problems.
export function Inspector({editing, node, schema, problems, openText, close, connect, last}: Props) {
  const {c, act, readOnly, places, select, full} = editing
  const {word, icon: Icon} = kindWords(node.kind)
  const fields = useMemo(() => (node.kind ? nodeFields(schema, node.kind) : []), [schema, node.kind])
  // Where a field is shown is decided when the node is opened: one that is emptied or filled stays where it is, with the focus.
  const opened = useRef<{fields: Field[]; shown: Field[]; more: Field[]} | null>(null)
  if (opened.current?.fields !== fields) opened.current = {fields, ...sorted(node.kind ?? '', fields, node.data)}
  const {shown, more} = opened.current
  const known = new Set(fields.map(f => f.key))
  const others = useRef(new Set<string>())
  for (const k of Object.keys(node.data)) others.current.add(k)
  const rest = [...others.current].filter(k => !known.has(k))
  const set = (path: (string | number)[], v: unknown) => act(setField(c, node.index, path, v), {group: `${node.index} ${path.join(' ')}`})
  const held = (key: string): Held => ({
    value: node.data[key],
    text: textOf(editing, node, [key]),
    name: JSON.stringify([node.id, key]),
    drafts: draftsOf(editing.model),
  })
  const field = (f: Field) => {
    if (node.kind === 'if' && f.key === 'conditions') return <Conditions key={f.key} editing={editing} node={node} />
    if (node.kind === 'agent' && f.key === 'tools')
      return <Tools key={f.key} held={held(f.key)} set={v => set(['tools'], v)} setOne={(name, on) => set(['tools', name], on)} readOnly={readOnly} />
    return <FieldInput key={f.key} field={f} held={held(f.key)} set={v => set([f.key], v)} readOnly={readOnly} />
  }
  const links = c.edges.filter(e => e.from === node.id || e.to === node.id)
  const at = places.get(node.id)
  return (
    <section className={styles.inspector} data-inspector aria-label={`${word} ${node.name}`}>
      <header className={styles.head}>
        <Icon size={16} aria-hidden="true" />
        <h2>
          <Line>{node.name || node.id}</Line>
        </h2>
        <IconButton label="Close" onClick={close}>
          <X size={16} />
        </IconButton>
      </header>
      <div className={styles.body}>
        {problems.length > 0 && <Troubles list={problems} openText={openText} />}
        {last}
        <IDInput id={node.id} readOnly={readOnly} set={id => act(rename(c, full, node.index, id))} word={word} />
        {shown.map(field)}
        {more.length > 0 && (
          <details className={styles.more}>
            <summary>{more.length} more</summary>
            {more.map(field)}
          </details>
        )}
        {rest.map(k => (
          <Raw key={k} name={k} held={held(k)} set={v => set([k], v)} readOnly={readOnly} />
        ))}
        <h3>Connections</h3>
        {links.length === 0 && <p className={styles.quiet}>None yet.</p>}
        <ul className={styles.links}>
          {links.map(e => {
            const from = c.byID.get(e.from)
            const out = e.from === node.id
            const other = out ? e.to : e.from
            const conditions = Array.isArray(from?.data.conditions) ? from.data.conditions : []
            return (
              <li key={e.key}>
                <span className={styles.way}>
                  {out ? '' : 'from '}
                  <Line max={30}>{out ? handleWord(e.port, conditions) : c.byID.get(other)?.name || other}</Line>
                </span>
                {out ? (
                  <select
                    className={control.select}
                    aria-label={`Target of ${handleWord(e.port, conditions)}`}
                    disabled={readOnly}
                    value={other}
                    onChange={x => act(reconnect(c, e.index, {from: e.from, handle: e.port, to: x.target.value}))}
                  >
                    {!c.byID.has(other) && <option value={other}>{other} (missing)</option>}
                    {[...c.byID.values()].map(n => (
                      <option key={n.id} value={n.id}>
                        {n.name === n.id ? n.id : `${n.name} (${n.id})`}
                      </option>
                    ))}
                  </select>
                ) : (
                  <button type="button" className={styles.jump} onClick={() => select([other])}>
                    {handleWord(e.port, conditions)}
                  </button>
                )}
                {!readOnly && (
                  <IconButton label={`Delete the connection to ${other}`} onClick={() => act(remove(c, full, [], [e.index]))}>
                    <Trash2 size={14} />
                  </IconButton>
                )}
              </li>
            )
          })}
        </ul>
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

export function Troubles({list, openText}: {list: readonly Problem[]; openText: (range: {from: number; to: number}) => void}) {
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

function IDInput({id, set, readOnly, word}: {id: string; set: (id: string) => boolean; readOnly: boolean; word: string}) {
  const [typed, setTyped] = useState(id)
  const field = useId()
  useEffect(() => setTyped(id), [id])
  const done = () => {
    if (typed !== id && !set(typed)) setTyped(id)
  }
  return (
    <div className={styles.field}>
      <label htmlFor={field}>{word} id</label>
      <input
        id={field}
        className={`${control.input} ${control.code}`}
        value={typed}
        disabled={readOnly}
        onChange={e => setTyped(e.target.value)}
        onBlur={done}
        onKeyDown={e => {
          if (e.key === 'Enter') done()
          if (e.key === 'Escape') setTyped(id)
        }}
      />
    </div>
  )
}

// Conditions are a list in order; their edges follow them.
function Conditions({editing, node}: {editing: Editing; node: CanvasNode}) {
  const {c, act, readOnly} = editing
  const list = Array.isArray(node.data.conditions) ? node.data.conditions : []
  const set = (i: number, key: string, v: string) => act(setField(c, node.index, ['conditions', i, key], v), {group: `${node.index} condition ${i} ${key}`})
  return (
    <fieldset className={styles.conditions}>
      <legend>Conditions, the first that holds wins</legend>
      {list.map((item, i) => {
        const x = isRecord(item) ? item : {}
        const name = `condition ${i + 1}`
        return (
          <div key={i} className={styles.condition}>
            <select
              aria-label={`Operator of ${name}`}
              className={control.select}
              disabled={readOnly}
              value={x.operator === 'contains' ? 'contains' : 'equal'}
              onChange={e => set(i, 'operator', e.target.value)}
            >
              <option value="equal">equals</option>
              <option value="contains">contains</option>
            </select>
            <input
              aria-label={`Value of ${name}`}
              className={control.input}
              disabled={readOnly}
              value={
                typeof x.value === 'number'
                  ? textOf(editing, node, ['conditions', i, 'value'])
                  : x.value === undefined || x.value === null
                    ? ''
                    : String(x.value)
              }
              onChange={e => set(i, 'value', e.target.value)}
            />
            {!readOnly && (
              <span className={styles.buttons}>
                <IconButton label={`Move ${name} up`} disabled={i === 0} onClick={() => act(moveCondition(c, node.index, i, i - 1))}>
                  <ArrowUp size={14} />
                </IconButton>
                <IconButton label={`Move ${name} down`} disabled={i === list.length - 1} onClick={() => act(moveCondition(c, node.index, i, i + 1))}>
                  <ArrowDown size={14} />
                </IconButton>
                <IconButton label={`Delete ${name}`} onClick={() => act(removeCondition(c, node.index, i))}>
                  <Trash2 size={14} />
                </IconButton>
              </span>
            )}
          </div>
        )
      })}
      {!readOnly && <Button onClick={() => act(setField(c, node.index, ['conditions'], [...list, {operator: 'contains', value: ''}]))}>Add a condition</Button>}
    </fieldset>
  )
}

// Tools are a list of names, or a map of names to true. Two of them have a meaning of their own.
function Tools({held, set, setOne, readOnly}: {held: Held; set: (v: unknown) => void; setOne: (name: string, on: boolean) => void; readOnly: boolean}) {
  const {value} = held
  const list = Array.isArray(value)
  const has = (name: string) => (list ? value.includes(name) : isRecord(value) && value[name] === true)
  const turn = (name: string, on: boolean) => {
    if (list) set(on ? [...value, name] : value.filter(x => x !== name))
    else if (isRecord(value)) setOne(name, on)
    else if (on) set({[name]: true})
  }
  const own = ['subagents', 'web_search']
  const names = list ? value.map(String) : isRecord(value) ? Object.keys(value).filter(k => value[k] === true) : []
  const others = names.filter(n => !own.includes(n)).join('\n')
  return (
    <fieldset className={styles.conditions}>
      <legend>Tools</legend>
      {own.map(name => (
        <label key={name} className={styles.check}>
          <input type="checkbox" checked={has(name)} disabled={readOnly} onChange={e => turn(name, e.target.checked)} />
          {name === 'subagents' ? 'may ask sub-agents' : 'web search'}
        </label>
      ))}
      <FieldInput
        field={{key: 'more_tools', hint: 'names of other tools', kind: 'words', choices: [], required: false}}
        held={{...held, value: others === '' ? undefined : others.split('\n')}}
        readOnly={readOnly}
        set={v => {
          const next = Array.isArray(v) ? v.map(String) : []
          if (list || !isRecord(value)) {
            const all = [...own.filter(has), ...next]
            set(all.length === 0 ? undefined : list || value === undefined || value === null ? all : value)
            return
          }
          const kept = Object.fromEntries(Object.entries(value).filter(([k, on]) => own.includes(k) || on !== true || next.includes(k)))
          for (const n of next) Object.defineProperty(kept, n, {value: true, enumerable: true, configurable: true, writable: true})
          set(kept)
        }}
      />
    </fieldset>
  )
}

// Raw is a key that the form does not know: it is kept, and shown as it is.
function Raw({name, held, set, readOnly}: {name: string; held: Held; set: (v: unknown) => void; readOnly: boolean}) {
  const id = useId()
  return (
    <div className={styles.field}>
      <label htmlFor={id}>
        <Text>{labelOf(name)}</Text>
      </label>
      <JSONInput id={id} disabled={readOnly} held={held} set={set} />
      <small>
        <Text>{`${name}: as the document has it`}</Text>
      </small>
    </div>
  )
}
