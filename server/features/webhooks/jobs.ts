export { type Dispatcher, dispatcherConnections, startDispatcher } from './dispatcher.ts';
