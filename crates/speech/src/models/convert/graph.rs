//! A model's computation graph between reading and writing, mostly borrowed from the file.

use std::borrow::Cow;
use std::collections::HashSet;

use super::ConvertError;

/// ONNX `TensorProto.DataType` of 32-bit floats.
pub(super) const FLOAT: i32 = 1;
/// ONNX `TensorProto.DataType` of signed bytes.
pub(super) const INT8: i32 = 3;

pub(super) struct Model<'a> {
    pub(super) ir_version: i64,
    /// Operator sets: domain and version.
    pub(super) opsets: Vec<(&'a str, i64)>,
    pub(super) graph: Graph<'a>,
}

pub(super) struct Graph<'a> {
    pub(super) initializers: Vec<Tensor<'a>>,
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) inputs: Vec<ValueInfo<'a>>,
    pub(super) outputs: Vec<ValueInfo<'a>>,
}

pub(super) struct Tensor<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) data_type: i32,
    pub(super) dims: Vec<i64>,
    pub(super) raw: Cow<'a, [u8]>,
}

#[derive(Default)]
pub(super) struct Node<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) domain: &'a str,
    pub(super) op_type: &'a str,
    pub(super) inputs: Vec<Cow<'a, str>>,
    pub(super) outputs: Vec<Cow<'a, str>>,
    pub(super) attributes: Vec<Attribute<'a>>,
}

pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    pub(super) value: AttributeValue<'a>,
}

pub(super) enum AttributeValue<'a> {
    Float(f32),
    Int(i64),
    Text(&'a str),
    Tensor(Tensor<'a>),
    Graph(Graph<'a>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<&'a str>),
}

pub(super) struct ValueInfo<'a> {
    pub(super) name: &'a str,
    /// Element type and shape of a tensor.
    pub(super) tensor: Option<(i32, Option<Vec<Dimension<'a>>>)>,
}

pub(super) enum Dimension<'a> {
    Unknown,
    Fixed(i64),
    Named(&'a str),
}

impl<'a> Node<'a> {
    pub(super) fn subgraphs(&self) -> impl Iterator<Item = &Graph<'a>> {
        self.attributes.iter().filter_map(|attribute| match &attribute.value {
            AttributeValue::Graph(graph) => Some(graph),
            _ => None,
        })
    }

    pub(super) fn subgraphs_mut(&mut self) -> impl Iterator<Item = &mut Graph<'a>> {
        self.attributes.iter_mut().filter_map(|attribute| match &mut attribute.value {
            AttributeValue::Graph(graph) => Some(graph),
            _ => None,
        })
    }

    /// Returns the names that the node and its subgraphs use from the outer graph.
    fn needs(&self) -> HashSet<&str> {
        let mut needs: HashSet<&str> = self.inputs.iter().map(AsRef::as_ref).collect();
        for graph in self.subgraphs() {
            let own = graph.own_names();
            needs.extend(graph.nodes.iter().flat_map(Node::needs).filter(|name| !own.contains(name)));
            needs.extend(graph.outputs.iter().map(|output| output.name).filter(|name| !own.contains(name)));
        }
        needs
    }
}

impl<'a> Graph<'a> {
    /// Returns the names bound in this graph; they shadow outer names.
    fn own_names(&self) -> HashSet<&str> {
        let results = self.nodes.iter().flat_map(|node| &node.outputs).map(AsRef::as_ref);
        let constants = self.initializers.iter().map(|tensor| tensor.name.as_ref());
        results.chain(constants).chain(self.inputs.iter().map(|input| input.name)).collect()
    }

    /// Sorts nodes topologically, as ONNX requires; stable otherwise.
    pub(super) fn sort(&mut self) -> Result<(), ConvertError> {
        for node in &mut self.nodes {
            node.subgraphs_mut().try_for_each(Graph::sort)?;
        }
        let mut pending: HashSet<String> =
            self.nodes.iter().flat_map(|node| node.outputs.iter()).map(|name| name.to_string()).collect();
        let mut waiting: Vec<Node<'a>> = self.nodes.drain(..).collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut later = Vec::new();
            for node in waiting {
                if node.needs().iter().all(|name| !pending.contains(*name)) {
                    for name in &node.outputs {
                        pending.remove(name.as_ref());
                    }
                    self.nodes.push(node);
                } else {
                    later.push(node);
                }
            }
            if later.len() == before {
                return Err(ConvertError::Malformed("nodes that wait for each other"));
            }
            waiting = later;
        }
        Ok(())
    }

    /// Removes nodes and tensors that no output needs. The nodes must be sorted.
    pub(super) fn prune(&mut self) {
        for node in &mut self.nodes {
            node.subgraphs_mut().for_each(Graph::prune);
        }
        let mut needed: HashSet<String> = self.outputs.iter().map(|output| output.name.to_owned()).collect();
        let mut kept: Vec<Node<'a>> = Vec::new();
        for node in self.nodes.drain(..).rev() {
            if node.outputs.iter().any(|name| needed.contains(name.as_ref())) {
                needed.extend(node.needs().into_iter().map(str::to_owned));
                kept.push(node);
            }
        }
        kept.reverse();
        self.nodes = kept;
        self.initializers.retain(|tensor| needed.contains(tensor.name.as_ref()));
    }
}
