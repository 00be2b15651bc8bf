import {Redo2, Undo2} from 'lucide-react'
import {Link} from 'wouter'
import {isMac} from '../shell/keys.ts'
import {Button, IconButton} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import type {Checking} from './check.ts'
import styles from './EditHead.module.css'
import type {Session, State} from './session.ts'
import {isUnstored} from './unstored.ts'
import {useHistory} from './use_model.ts'

type Props = {id: string; session: Session; state: State; mayEdit: boolean; checking: Checking}

// stand describes which version is edited, and what is not stored.
function stand({stored, dirty, busy, said, kept}: State): string {
  const {draft, published, version} = stored.definition
  const which = draft !== null ? `draft v${draft}` : version !== null ? `v${version}` : 'new'
  const out = published !== null ? `published v${published}` : 'not published'
  const now =
    busy === 'store'
      ? 'storing…'
      : busy === 'publish'
        ? 'publishing…'
        : dirty
          ? kept
            ? 'changes not stored'
            : 'changes not stored, and not kept by this browser'
          : 'stored'
  return [which, out, said || now].join(' · ')
}

// EditHead shows the name and state of the edited workflow, and stores and publishes it. Disabled
// actions say why.
export function EditHead({id, session, state, mayEdit, checking}: Props) {
  const {model} = session
  const {canUndo, canRedo} = useHistory(model)
  const errors = checking.check?.text === model.text && !checking.check.ok
  const stuck = state.found !== null || state.conflict !== null
  const why = state.found
    ? 'Decide first about the text that this browser kept'
    : state.conflict
      ? 'Decide first which text it is to be'
      : errors
        ? 'A document with errors is not stored: correct them first. This browser keeps it'
        : ''
  const {draft} = state.stored.definition
  const isNew = isUnstored(state.stored)
  return (
    <header className={styles.head}>
      <div className={styles.name}>
        <h1>
          {isNew ? (
            <Line>{id}</Line>
          ) : (
            <Link href={`/workflows/${encodeURIComponent(id)}`}>
              <Line>{state.stored.definition.name || id}</Line>
            </Link>
          )}
        </h1>
        <span className={styles.stand} role="status">
          {stand(state)}
        </span>
      </div>
      <div className={styles.actions}>
        {mayEdit ? (
          <>
            <IconButton label="Undo" disabled={!canUndo || stuck} onClick={() => model.undo()}>
              <Undo2 size={16} />
            </IconButton>
            <IconButton label="Redo" disabled={!canRedo || stuck} onClick={() => model.redo()}>
              <Redo2 size={16} />
            </IconButton>
            {!isNew && <Link href={`/workflows/${encodeURIComponent(id)}/versions`}>Versions</Link>}
            <Button
              disabled={!state.dirty || state.busy !== null || stuck || errors}
              title={
                why || (state.dirty ? `Store as a draft (${isMac ? '⌘S' : 'Ctrl S'})` : 'There is no change to store')
              }
              onClick={() => void session.save()}
            >
              Save draft
            </Button>
            <Button
              kind="primary"
              disabled={(!state.dirty && draft === null) || state.busy !== null || stuck || errors}
              title={
                why ||
                (state.dirty || draft !== null ? 'New runs use this text from then on' : 'There is no draft to publish')
              }
              onClick={() => void session.publish()}
            >
              Publish
            </Button>
          </>
        ) : (
          <span className={styles.stand}>Your role may look, and not change it</span>
        )}
      </div>
    </header>
  )
}
