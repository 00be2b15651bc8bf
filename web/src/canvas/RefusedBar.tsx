import {Button} from '../ui/parts.tsx'
import {Text} from '../ui/Text.tsx'
import styles from './CanvasEditor.module.css'
import type {Refusal} from './rules.ts'
import type {Refused} from './use_editing.ts'

// anyways describe the additional change that makes a rejected edit possible.
const anyways: Record<NonNullable<Refusal['fix']>, string> = {
  subagents: 'Enable sub-agents and connect',
  rounds: 'Set maxRounds to 10 and connect',
  instead: 'Lead the edge there instead',
}

// RefusedBar says why an edit was not made, and offers a change that makes it possible. back
// returns the focus to the drawing.
export function RefusedBar({refused, close, back}: {refused: Refused; close: () => void; back: () => void}) {
  return (
    <div className={styles.refused} role="alert" data-part="refused">
      <p>
        <Text>{refused.reason}</Text>
      </p>
      {refused.anyway && (
        <Button
          onClick={() => {
            refused.anyway?.()
            close()
            back()
          }}
        >
          {anyways[refused.fix ?? 'subagents']}
        </Button>
      )}
      <Button
        kind="quiet"
        onClick={() => {
          close()
          back()
        }}
      >
        Close
      </Button>
    </div>
  )
}
