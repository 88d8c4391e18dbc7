export { dispatcherConnections, startDispatcher } from './dispatcher.ts';
