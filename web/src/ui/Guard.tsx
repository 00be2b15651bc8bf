import {Component, type ReactNode} from 'react'
import {ErrorBox} from './parts.tsx'

// Guard shows an error of its children in their place, so that the rest of the page stays usable.
export class Guard extends Component<{children: ReactNode}, {error: unknown}> {
  override state: {error: unknown} = {error: null}

  static getDerivedStateFromError(error: unknown) {
    return {error: error ?? new Error('unknown')}
  }

  override render() {
    const {error} = this.state
    return error === null ? this.props.children : <ErrorBox error={error} again={() => this.setState({error: null})} />
  }
}
