import {ArrowDown, ArrowUp, Trash2} from 'lucide-react'
import {isRecord} from '../lib/record.ts'
import control from '../ui/control.module.css'
import {Button, IconButton} from '../ui/parts.tsx'
import {type Held, textAt} from './bound.ts'
import {type CanvasNode, dataOf} from './document.ts'
import {FieldInput} from './Fields.tsx'
import styles from './Inspector.module.css'
import {moveCondition, removeCondition, setField} from './operations.ts'
import {operators} from './rules.ts'
import type {Editing} from './use_editing.ts'

// Conditions are an ordered list; their edges follow them.
export function Conditions({editing, node}: {editing: Editing; node: CanvasNode}) {
  const {c, act, readOnly} = editing
  const list = Array.isArray(node.data.conditions) ? node.data.conditions : []
  const set = (i: number, key: string, v: string) =>
    act(setField(c, node.index, ['conditions', i, key], v), {group: `${node.index} condition ${i} ${key}`})
  // A condition has an operator and a value, or an expression.
  const choose = (i: number, x: Record<string, unknown>, operator: string) => {
    if (operator === 'if') act(setField(c, node.index, ['conditions', i], {if: ''}))
    else if ('if' in x) act(setField(c, node.index, ['conditions', i], {operator, value: ''}))
    else set(i, 'operator', operator)
  }
  return (
    <fieldset className={styles.conditions} data-key="conditions">
      <legend>Conditions, the first that holds wins</legend>
      <small className={styles.quiet}>
        Values are texts or numbers that the previous output is compared with, no expressions.
      </small>
      {list.map((item, i) => {
        const x = isRecord(item) ? item : {}
        const name = `condition ${i + 1}`
        // an expression excludes a value; one that is there nevertheless is shown, not hidden
        const keys = 'if' in x ? ('value' in x ? ['if', 'value'] : ['if']) : ['value']
        // an operator that is unknown is an option of its own, so that choosing another one is a change
        const operator = 'if' in x ? 'if' : String(x.operator || 'equal')
        const unknown = operator !== 'if' && !Object.hasOwn(operators, operator)
        return (
          <div key={i} className={styles.condition}>
            <select
              data-key="operator"
              aria-label={`Operator of ${name}`}
              className={control.select}
              disabled={readOnly}
              value={operator}
              onChange={e => choose(i, x, e.target.value)}
            >
              {unknown && <option value={operator}>{operator}, which is unknown</option>}
              {Object.entries(operators).map(([key, word]) => (
                <option key={key} value={key}>
                  {word}
                </option>
              ))}
              <option value="if">expression</option>
            </select>
            {keys.map(key => (
              <input
                key={key}
                data-key={key}
                aria-label={key === 'if' ? `Expression of ${name}` : `Value of ${name}`}
                className={control.input}
                disabled={readOnly}
                value={
                  typeof x[key] === 'number'
                    ? textAt(c, [...dataOf(c, node), 'conditions', i, key])
                    : x[key] === undefined || x[key] === null
                      ? ''
                      : String(x[key])
                }
                onChange={e => set(i, key, e.target.value)}
              />
            ))}
            {!readOnly && (
              <span className={styles.buttons}>
                <IconButton
                  label={`Move ${name} up`}
                  disabled={i === 0}
                  onClick={() => act(moveCondition(c, node.index, i, i - 1))}
                >
                  <ArrowUp size={14} />
                </IconButton>
                <IconButton
                  label={`Move ${name} down`}
                  disabled={i === list.length - 1}
                  onClick={() => act(moveCondition(c, node.index, i, i + 1))}
                >
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
      {!readOnly && (
        <Button
          onClick={() => act(setField(c, node.index, ['conditions'], [...list, {operator: 'contains', value: ''}]))}
        >
          Add a condition
        </Button>
      )}
    </fieldset>
  )
}

// Tools are a list of names, or a map of names to true. Two of them have a special meaning.
export function Tools({
  held,
  set,
  setOne,
  readOnly,
}: {
  held: Held
  set: (v: unknown) => void
  setOne: (name: string, on: boolean) => void
  readOnly: boolean
}) {
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
    <fieldset className={styles.conditions} data-key="tools">
      <legend>Tools</legend>
      {own.map(name => (
        <label key={name} className={styles.check}>
          <input type="checkbox" checked={has(name)} disabled={readOnly} onChange={e => turn(name, e.target.checked)} />
          {name === 'subagents' ? 'may ask sub-agents' : 'web search'}
        </label>
      ))}
      <FieldInput
        field={{
          key: 'more_tools',
          hint: 'names of other tools',
          kind: 'words',
          choices: [],
          required: false,
          holds: '',
        }}
        held={{...held, value: others === '' ? undefined : others.split('\n')}}
        readOnly={readOnly}
        set={v => {
          const next = Array.isArray(v) ? v.map(String) : []
          if (list || !isRecord(value)) {
            const all = [...own.filter(has), ...next]
            set(all.length === 0 ? undefined : list || value === undefined || value === null ? all : value)
            return
          }
          const kept = Object.fromEntries(
            Object.entries(value).filter(([k, on]) => own.includes(k) || on !== true || next.includes(k)),
          )
          for (const n of next)
            Object.defineProperty(kept, n, {value: true, enumerable: true, configurable: true, writable: true})
          set(kept)
        }}
      />
    </fieldset>
  )
}
